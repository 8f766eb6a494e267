import type { CancelTimer, Clock } from '@nodepool/zk-protocol';

interface Timer {
  readonly atMs: number;
  readonly fn: () => void;
}

/** A clock that runs from timer to timer as fast as everything between them can be done. */
export class PumpClock implements Clock {
  #nowMs = 1_700_000_000_000;
  readonly #timers = new Set<Timer>();
  #stopped = false;

  constructor() {
    this.#turn();
  }

  now(): number {
    return this.#nowMs;
  }

  setTimer(ms: number, fn: () => void): CancelTimer {
    const timer = { atMs: this.#nowMs + Math.max(0, ms), fn };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  stop(): void {
    this.#stopped = true;
  }

  #turn(): void {
    if (this.#stopped) return;
    let next: Timer | undefined;
    for (const timer of this.#timers) if (next === undefined || timer.atMs < next.atMs) next = timer;
    if (next) {
      this.#timers.delete(next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.fn();
    }
    // An immediate comes after all promise callbacks, however many follow from each other.
    setImmediate(() => this.#turn());
  }
}
