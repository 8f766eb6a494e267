/** Cancels a timer; harmless when it already fired. */
export type CancelTimer = () => void;

/** Source of time. Handed in everywhere, so that tests and the simulator can own it. */
export interface Clock {
  /** Milliseconds since the UNIX epoch. */
  now(): number;
  /**
   * Milliseconds since some moment, which never jump when somebody sets the machine's time: for measuring how long
   * something takes. A clock whose {@link Clock.now} never jumps needs none.
   */
  steadyNow?(): number;
  /** Calls `fn` once after `ms` milliseconds. Timers never keep the process alive by themselves. */
  setTimer(ms: number, fn: () => void): CancelTimer;
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  steadyNow: () => performance.now(),
  setTimer: (ms, fn) => startTimer(ms, fn, (timer) => timer.unref()),
};

/** The machine's clock, with timers that keep the process alive: for waits that something depends on. */
export const patientClock: Clock = {
  ...systemClock,
  setTimer: (ms, fn) => startTimer(ms, fn, (timer) => timer.ref()),
};

/** The longest time that Node.js can wait in one go, 24.8 days; a longer one would end at once. */
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

/** A timer that fires this much too late tells of a pause: the process was stopped, or its event loop was blocked. */
export const PAUSE_MS = 1_000;

/**
 * As {@link Clock.setTimer}, but lets the event loop read first what has arrived: after a pause timers run before the data
 * that arrived meanwhile.
 * @param fn - receives how late the timer fired, in milliseconds; see {@link PAUSE_MS}
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
 * A deadline for something that this process has to hear or to finish. After a pause of the process there was no chance for
 * that: it gets one more.
 * @param chanceMs - how long that chance is
 */
export function setDeadline(clock: Clock, ms: number, chanceMs: number, expire: () => void): CancelTimer {
  let cancel = setPatientTimer(clock, ms, (lateMs) => {
    if (lateMs < PAUSE_MS) expire();
    else cancel = setPatientTimer(clock, chanceMs, expire);
  });
  return () => cancel();
}

/** Time for measuring durations: {@link Clock.steadyNow} where there is one, else {@link Clock.now}. */
export function steadyNow(clock: Clock): number {
  return clock.steadyNow?.() ?? clock.now();
}

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
