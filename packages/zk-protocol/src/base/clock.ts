/** Cancels a timer; does nothing if it has fired. */
export type CancelTimer = () => void;

/** Source of time, injected so that tests and the simulator control it. */
export interface Clock {
  /** Milliseconds since the UNIX epoch. */
  now(): number;
  /**
   * Monotonic milliseconds, for measuring durations: they do not jump when the system time is set. Optional if
   * {@link Clock.now} never jumps.
   */
  steadyNow?(): number;
  /** Calls `fn` once after `ms` milliseconds. Timers never keep the process alive by themselves. */
  setTimer(ms: number, fn: () => void): CancelTimer;
}

/** The system clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  steadyNow: () => performance.now(),
  setTimer: (ms, fn) => startTimer(ms, fn, (timer) => timer.unref()),
};

/** The system clock with timers that keep the process alive. */
export const patientClock: Clock = {
  ...systemClock,
  setTimer: (ms, fn) => startTimer(ms, fn, (timer) => timer.ref()),
};

/** Longest timer of Node.js, 24.8 days; a longer one would fire at once. */
const LONGEST_MS = 2 ** 31 - 1;

function startTimer(ms: number, fn: () => void, prepare: (timer: NodeJS.Timeout) => void): CancelTimer {
  let timer: NodeJS.Timeout;
  const wait = (leftMs: number) => {
    const next = leftMs > LONGEST_MS ? () => wait(leftMs - LONGEST_MS) : fn;
    timer = setTimeout(next, Math.min(leftMs, LONGEST_MS));
    prepare(timer);
  };
  wait(ms);
  return () => clearTimeout(timer);
}

/** A timer that is this late indicates a pause: the process was stopped, or its event loop was blocked. */
export const PAUSE_MS = 1_000;

/**
 * As {@link Clock.setTimer}, but lets the event loop read pending data first: after a pause, timers run before data that
 * arrived in between.
 * @param fn - receives the delay of the timer, in milliseconds; see {@link PAUSE_MS}
 */
export function setPatientTimer(clock: Clock, ms: number, fn: (lateMs: number) => void): CancelTimer {
  const dueMs = steadyNow(clock) + ms;
  let isCancelled = false;
  const cancelTimer = clock.setTimer(ms, () => {
    const lateMs = steadyNow(clock) - dueMs;
    setImmediate(() => {
      if (!isCancelled) fn(lateMs);
    });
  });
  return () => {
    isCancelled = true;
    cancelTimer();
  };
}

/**
 * A deadline for data to arrive or work to finish. After a pause of the process, extends it once.
 * @param chanceMs - length of the extension
 */
export function setDeadline(clock: Clock, ms: number, chanceMs: number, expire: () => void): CancelTimer {
  let cancel = setPatientTimer(clock, ms, (lateMs) => {
    if (lateMs < PAUSE_MS) expire();
    else cancel = setPatientTimer(clock, chanceMs, expire);
  });
  return () => cancel();
}

/** Time for measuring durations: {@link Clock.steadyNow}, or {@link Clock.now} without it. */
export function steadyNow(clock: Pick<Clock, 'now' | 'steadyNow'>): number {
  return clock.steadyNow?.() ?? clock.now();
}

/** Waits `ms` milliseconds of the given clock; an abort rejects with the signal's reason. */
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
