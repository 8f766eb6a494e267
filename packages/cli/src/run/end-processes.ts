import { setTimeout as delay } from 'node:timers/promises';
import { readProcesses } from './process-table.js';
import type { ProcessEntry, ReadProcesses } from './process-table.js';

/**
 * Time to end by itself. A lock counts as lost after 6 s without ZooKeeper; other launchers use the nodes when the session
 * ends, 10 s after the last ping. So SIGTERM comes before, and SIGKILL at most 3 s after that.
 */
const KILL_AFTER_MS = 3_000;
/** Time for SIGKILL to take effect; a process that hangs in the kernel or belongs to another user stays. */
const GIVE_UP_AFTER_MS = KILL_AFTER_MS + 2_000;
const LOOK_MS = 50;
/** A process that starts another one and ends while the table is read may be missed with it. */
const EMPTY_LOOKS = 2;

/** Which processes belong to a command. */
export interface CommandProcesses {
  /** Variable that only the environment of the command has, as `NAME=value`. */
  readonly marker: string;
  /** The command itself, as it was after its start: its pid alone may belong to another process by now. */
  readonly root?: ProcessEntry | undefined;
}

const identityOf = ({ pid, started }: Pick<ProcessEntry, 'pid' | 'started'>) => `${pid} ${started}`;

/** Follows a command's processes, also after their parents have ended. */
class Family {
  readonly #known = new Set<string>();

  constructor(root: ProcessEntry | undefined) {
    if (root) this.#known.add(identityOf(root));
  }

  /** The processes of the command that are running. */
  select(all: readonly ProcessEntry[]): ProcessEntry[] {
    const members = new Map<number, ProcessEntry>();
    const isMember = (entry: ProcessEntry) =>
      entry.isMarked || members.has(entry.parentPid) || this.#known.has(identityOf(entry));
    for (let size = -1; size < members.size;) {
      size = members.size;
      for (const entry of all) if (isMember(entry)) members.set(entry.pid, entry);
    }
    for (const entry of members.values()) this.#known.add(identityOf(entry));
    return [...members.values()];
  }
}

/** A process that has ended meanwhile, or that belongs to another user, is found out at the next look. */
function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // ESRCH or EPERM
  }
}

/**
 * Ends a command with everything it has started: SIGTERM, after 3 s SIGKILL.
 * @returns what is still running because it could not be ended
 */
export async function endProcesses(
  command: CommandProcesses,
  read: ReadProcesses = readProcesses,
): Promise<ProcessEntry[]> {
  const family = new Family(command.root);
  const terminated = new Set<string>();
  const beganMs = performance.now();
  for (let emptyLooks = 0; ; await delay(LOOK_MS)) {
    const running = family.select(await read(command.marker));
    emptyLooks = running.length === 0 ? emptyLooks + 1 : 0;
    const waitedMs = performance.now() - beganMs;
    if (emptyLooks === EMPTY_LOOKS || waitedMs > GIVE_UP_AFTER_MS) return running;
    for (const entry of running) {
      if (waitedMs > KILL_AFTER_MS) send(entry.pid, 'SIGKILL');
      else if (!terminated.has(identityOf(entry))) {
        terminated.add(identityOf(entry));
        send(entry.pid, 'SIGTERM');
        send(entry.pid, 'SIGCONT'); // a stopped process cannot end by itself
      }
    }
  }
}
