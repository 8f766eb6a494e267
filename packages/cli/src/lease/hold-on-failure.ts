import { personName } from '../connection/who-am-i.js';
import { inform } from '../command/context.js';
import { shellWord } from '@nodepool/core/service';
import type { CliContext } from '../command/context.js';
import { withIdentity } from './node-login.js';
import { sshCommand } from './ssh-command.js';
import type { Lease } from './lease.js';

/** Exit statuses of a command that was ended from outside: 128 plus the number of HUP, INT or TERM. */
const ENDED_BY_SIGNAL = new Set([129, 130, 143]);

/** Whether a command failed by itself. */
export function hasFailed(status: number): boolean {
  return status !== 0 && !ENDED_BY_SIGNAL.has(status);
}

/**
 * Holds the nodes instead of returning them, if their command failed and a hold was requested.
 * @param holdMs - how long; `undefined`: no hold
 * @param identity - file of the command line with the private key that logs in to them
 * @returns whether they will be held
 */
export async function holdOnFailure(
  context: CliContext,
  lease: Lease,
  status: number,
  holdMs: number | undefined,
  identity?: string,
): Promise<boolean> {
  if (holdMs === undefined || !hasFailed(status) || lease.lost.aborted) return false;
  const ms = await lease.hold(`${personName()}: the command failed with status ${status}`, holdMs);
  const end = new Date(context.clock.now() + ms).toISOString();
  for (const { node, login: own } of lease.nodes) {
    const login = sshCommand(node, withIdentity(own, identity));
    inform(`nodepool: the command failed with status ${status}; node ${node.id} is held until ${end}`);
    if (login !== undefined) inform(`  ${login}`);
    if (own?.certificate !== undefined && 'certificateCommand' in lease) {
      inform(`  ${lease.certificateCommand(node.id)} > ${shellWord(own.certificate)}   # logs in for ten more minutes`);
    }
    inform(`  ${lease.endHoldCommand(node.id)}   # ends the hold`);
  }
  return true;
}
