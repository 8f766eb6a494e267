import { execFile } from 'node:child_process';
import { constants } from 'node:os';
import { promisify } from 'node:util';

/** Words to put before a command. Empty: it runs as it is, in a process group of its own. */
export type Sandbox = readonly string[];

/**
 * Own mount and process namespaces: the end of the first process ends all of them and takes their mounts along, and it ends
 * when the builder ends, however that happens.
 */
const NAMESPACES: Sandbox = [
  ...['setpriv', '--pdeathsig', 'KILL', '--'],
  ...['unshare', '--mount', '--propagation', 'private', '--pid', '--fork', '--kill-child=KILL', '--mount-proc', '--'],
  // A first process that takes the ends of all others, and says by which signal the command was ended.
  ...['sh', '-c', '"$@"; exit $?', 'sh'],
];

/** A shell says so that a signal has ended a command. */
const SIGNALLED = 128;

/** The signal that has ended the command of a sandbox; `undefined`: it has exited by itself. */
export function signalOf(sandbox: Sandbox, exitCode: number): string | undefined {
  if (sandbox.length === 0) return undefined;
  return Object.entries(constants.signals).find(([, number]) => number + SIGNALLED === exitCode)?.[0];
}

/** Finds out whether builds can have namespaces of their own here: it takes root and util-linux. */
export async function findSandbox(): Promise<Sandbox> {
  const [program = '', ...args] = [...NAMESPACES, 'true'];
  try {
    await promisify(execFile)(program, args, { timeout: 10_000 });
    return NAMESPACES;
  } catch {
    return [];
  }
}
