import { Worker } from 'node:worker_threads';
import type { Logger } from '@nodepool/core';
import { currentDriverScope } from '@nodepool/core/launcher';
import type { Logging } from '@nodepool/core/service';
import { LAST_WORDS } from './shared.js';
import type { LastWords, WatchdogData } from './shared.js';

/** How often the main thread shows that it turns, and the watching thread looks. */
const LOOK_MS = 1_000;
/** Half a minute: by then the session with ZooKeeper is over anyway. */
const LOOKS = 30;
/** Little is needed to count. */
const WORKER_MIB = 8;
/** From `src` as well as from `dist`. */
const PROGRAM = new URL('../../dist/watchdog/worker.js', import.meta.url);

/** A watch that has begun. */
export interface Watchdog {
  /** The other thread looks from now on. */
  readonly watching: Promise<void>;
  stop(): void;
}

/** Times of the watchdog, in milliseconds and looks. */
export interface WatchdogOptions {
  readonly lookMs?: number;
  readonly looks?: number;
  /** Name of the program, for its last words. */
  readonly program?: string;
}

/**
 * Watches from a thread of its own whether this one still turns. An endless loop cannot be ended from within; the process
 * ends then, after the log has said whose code it was, so that a supervisor can start it anew.
 */
export function startWatchdog(
  { logger, close }: Logging,
  { lookMs = LOOK_MS, looks = LOOKS, program = 'nodepool' }: WatchdogOptions = {},
): Watchdog {
  const data: WatchdogData = { beats: new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT), lookMs, looks, program };
  const beats = new Int32Array(data.beats);
  const timer = setInterval(() => Atomics.add(beats, 0, 1), lookMs).unref();
  Reflect.set(globalThis, Symbol.for(LAST_WORDS), lastWords(logger, close, (lookMs * looks) / 1_000));
  const worker = new Worker(PROGRAM, {
    workerData: data,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: WORKER_MIB },
  });
  worker.unref();
  worker.on('error', (error) => logger.warn('The watchdog has ended; endless loops will not be noticed', { error }));
  return {
    watching: new Promise((resolve) => worker.once('message', () => resolve())),
    stop() {
      clearInterval(timer);
      Reflect.deleteProperty(globalThis, Symbol.for(LAST_WORDS));
      void worker.terminate();
    },
  };
}

function lastWords(logger: Logger, close: () => void, seconds: number): LastWords {
  return (frames) => {
    const scope = currentDriverScope();
    logger.error(
      scope
        ? `Driver "${scope.driver}" of provider "${scope.provider}" has kept the process busy for ${seconds} s without a pause; the process exits`
        : `The process has been busy for ${seconds} s without a pause; it exits`,
      { ...(scope && { provider: scope.provider, driver: scope.driver }), frames },
    );
    close();
    process.exit(1);
  };
}
