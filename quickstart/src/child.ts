import { spawn } from 'node:child_process';
import type { ChildProcess, SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

/** What is left of a process after its end. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A process of ours, and the promise of its end. */
export interface Child {
  readonly process: ChildProcess;
  readonly ended: Promise<Ended>;
}

/**
 * Starts a Node program. It gets a process group of its own: Ctrl-C in the terminal then reaches only us, and we stop
 * things in their order.
 */
export function startNode(script: string, args: readonly string[], options: SpawnOptions): Child {
  const child = spawn(process.execPath, [script, ...args], { ...options, detached: true });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  ended.catch(() => {}); // whoever awaits it sees the error; nobody has to
  return { process: child, ended };
}

/** Asks a process to stop, and kills it when it has not after `graceMs`. */
export async function stop({ process: child, ended }: Child, graceMs: number): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const late = new AbortController();
  const kill = delay(graceMs, undefined, { signal: late.signal }).then(
    () => child.kill('SIGKILL'),
    () => {}, // it ended in time
  );
  await ended;
  late.abort();
  await kill;
}

/** Calls `onLine` for each line a process writes; resolves when it will write no more. */
export async function eachLine(stream: Readable | null, onLine: (line: string) => void): Promise<void> {
  if (stream === null) return;
  const lines = createInterface({ input: stream });
  lines.on('line', onLine);
  await once(lines, 'close');
}
