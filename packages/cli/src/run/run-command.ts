import { tell } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { describeError } from '../command/errors.js';
import type { AcquireOptions } from '../lease/acquire.js';
import { describeNodes } from '../lease/describe-lease.js';
import type { Lease } from '../lease/lease.js';
import { withLease } from '../lease/with-lease.js';
import type { Interrupts } from '../terminal/interrupts.js';
import { runChildCommand } from './child-command.js';
import { nodeEnvironment } from './environment.js';
import { writeRunFiles } from './run-files.js';

async function runWithNodes(
  { clock, env }: CliContext,
  lease: Lease,
  interrupts: Interrupts,
  [program = '', ...args]: readonly string[],
): Promise<number> {
  const files = await writeRunFiles(lease.nodes);
  try {
    const nodes = nodeEnvironment(lease.requestId, describeNodes(lease.nodes), files);
    const command = { program, args, env: { ...env, ...nodes }, directory: files.directory };
    return await runChildCommand(command, { clock, lease, interrupts });
  } finally {
    await files.remove();
  }
}

/** `nodepool run`: takes nodes, runs a command with them, returns them. @returns the command's exit status */
export async function run(
  context: CliContext,
  options: Omit<AcquireOptions, 'purpose'> & { command: readonly string[] },
): Promise<number> {
  const acquire = { ...options, purpose: `nodepool run: ${options.command[0] ?? ''}` };
  const onUnreturned = (error: unknown) => tell(`nodepool: ${describeError(error)}`);
  return withLease(context, acquire, onUnreturned, (lease, interrupts) =>
    runWithNodes(context, lease, interrupts, options.command),
  );
}
