import { execFile } from 'node:child_process';
import { constants } from 'node:os';
import { promisify } from 'node:util';

/** Command prefix. Empty: the command runs without a sandbox, in its own process group. */
export type Sandbox = readonly string[];

/**
 * Separate mount and process namespaces. When their first process ends, the kernel kills the others and removes their
 * mounts. The first process ends with the builder, even if the builder is killed.
 */
const NAMESPACES: Sandbox = [
  ...['setpriv', '--pdeathsig', 'KILL', '--'],
  ...['unshare', '--mount', '--propagation', 'private', '--pid', '--fork', '--kill-child=KILL', '--mount-proc', '--'],
  // The first process reaps all others and reports the signal that ended the command.
  ...['sh', '-c', '"$@"; exit $?', 'sh'],
];

/** Offset that a shell adds to a signal number in the exit code. */
const SIGNALLED = 128;

/** Signal that ended the command in a sandbox; `undefined` if the command exited normally. */
export function signalOf(sandbox: Sandbox, exitCode: number): string | undefined {
  if (sandbox.length === 0) return undefined;
  return Object.entries(constants.signals).find(([, number]) => number + SIGNALLED === exitCode)?.[0];
}

/** Checks whether builds can have their own namespaces here. This requires root and util-linux. */
export async function findSandbox(): Promise<Sandbox> {
  const [program = '', ...args] = [...NAMESPACES, 'true'];
  try {
    await promisify(execFile)(program, args, { timeout: 10_000 });
    return NAMESPACES;
  } catch {
    return [];
  }
}
