import { spawn } from 'node:child_process';
import type { ChildProcess, SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

const END_WITH_PARENT = new URL('./end-with-parent.js', import.meta.url).href;

/** How a process has ended. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A process of ours, and the promise of its end. */
export interface Child {
  readonly process: ChildProcess;
  readonly ended: Promise<Ended>;
}

type Stream = 'ignore' | 'pipe' | 'inherit' | number;

/** What becomes of the standard streams, and the environment. */
export interface StartOptions {
  readonly stdio: readonly [Stream, Stream, Stream];
  readonly env?: NodeJS.ProcessEnv;
}

/**
 * Starts a Node program. It gets a process group of its own: Ctrl-C in the terminal then reaches only us, and we stop
 * things in their order. When we are killed, the pipe between us breaks, and the program is asked to stop.
 */
export function startNode(script: string, args: readonly string[], { stdio, env }: StartOptions): Child {
  const options: SpawnOptions = { stdio: [...stdio, 'pipe'], detached: true, ...(env && { env }) };
  const child = spawn(process.execPath, ['--import', END_WITH_PARENT, script, ...args], options);
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  ended.catch(() => {}); // a caller that awaits it sees the error; others need not
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
