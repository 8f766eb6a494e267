/** Cancels a timer; harmless when it already fired. */
export type CancelTimer = () => void;

/** Source of time. Handed in everywhere, so that tests and the simulator can own it. */
export interface Clock {
  /** Milliseconds since the UNIX epoch. */
  now(): number;
  /** Calls `fn` once after `ms` milliseconds. Timers never keep the process alive by themselves. */
  setTimer(ms: number, fn: () => void): CancelTimer;
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer(ms, fn) {
    const timer = setTimeout(fn, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Waits `ms` milliseconds of the given clock; an abort ends the wait early by rejecting with the signal's reason. */
export function delay(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const onAbort = () => {
      cancel();
      reject(signal?.reason as Error);
    };
    const cancel = clock.setTimer(ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
