import { writeSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import type { Debugger, InspectorNotification } from 'node:inspector';
import { parentPort, workerData } from 'node:worker_threads';
import { countLooks } from './look.js';
import { LAST_WORDS } from './shared.js';
import type { WatchdogData } from './shared.js';

/** How long the stuck thread has to say who it is; one that hangs in a system call never will. */
const ANSWER_MS = 5_000;
const FRAMES = 8;

// The thread was given nothing else.
const { beats, lookMs, looks, program } = workerData as WatchdogData;
const counter = new Int32Array(beats);
const isStuck = countLooks(Atomics.load(counter, 0), looks);

/** Only looks count at which this thread ran: a process that was stopped has not been busy. */
const timer = setInterval(() => {
  if (!isStuck(Atomics.load(counter, 0))) return;
  clearInterval(timer);
  setTimeout(giveUp, ANSWER_MS);
  askMainThread().catch(giveUp);
}, lookMs);
parentPort?.postMessage('watching');

/** Stops the main thread in the middle of its loop and has it say whose code that is. It ends the process then. */
async function askMainThread(): Promise<void> {
  const session = new Session();
  session.connectToMainThread();
  const paused = new Promise<InspectorNotification<Debugger.PausedEventDataType>>((resolve) => {
    session.once('Debugger.paused', resolve);
  });
  await session.post('Debugger.enable');
  await session.post('Debugger.pause');
  const { callFrames } = (await paused).params;
  const frames = callFrames.slice(0, FRAMES).map(describe).join(', ');
  const expression = `globalThis[Symbol.for(${JSON.stringify(LAST_WORDS)})](${JSON.stringify(frames)})`;
  await session.post('Debugger.evaluateOnCallFrame', { callFrameId: callFrames[0]?.callFrameId ?? '', expression });
}

function describe({ functionName, url, location }: Debugger.CallFrame): string {
  return `${functionName || 'anonymous'} (${url}:${location.lineNumber + 1})`;
}

function giveUp(error?: unknown): void {
  const why = error instanceof Error ? ` (${error.message})` : '';
  const seconds = (lookMs * looks) / 1_000;
  writeSync(2, `${program}: busy for ${seconds} s without a pause, and cannot say where${why}; it is killed\n`);
  process.kill(process.pid, 'SIGKILL');
}
