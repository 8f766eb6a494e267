import type { CancelTimer, Clock } from '@nodepool/zk-protocol';

interface Timer {
  readonly atMs: number;
  readonly fn: () => void;
}

/** Options of a {@link VirtualClock}. */
export interface VirtualClockOptions {
  /** Initial time in ms. Default: 1,000,000. */
  readonly nowMs?: number | undefined;
  /**
   * Awaited before time advances, for work that takes event loop turns, e.g. calls over a socket.
   * @returns whether any work was pending
   */
  readonly idle?: (() => Promise<boolean>) | undefined;
}

/**
 * A clock that advances only on request, or is set. Timers fire one by one, by due time and then in the order in which they were
 * set. Between two timers, all ready work runs.
 */
export class VirtualClock implements Clock {
  readonly #idle: VirtualClockOptions['idle'];
  #nowMs: number;
  /** How far the clock was set. */
  #setByMs = 0;
  /** Sorted, with the next timer last. */
  readonly #timers: Timer[] = [];

  /** @param begin - initial time or options; default 1,000,000 */
  constructor(begin: number | VirtualClockOptions = {}) {
    const { nowMs = 1_000_000, idle } = typeof begin === 'number' ? { nowMs: begin } : begin;
    this.#nowMs = nowMs;
    this.#idle = idle;
  }

  /** Timers that have neither fired nor been cancelled. */
  get pendingTimers(): number {
    return this.#timers.length;
  }

  now(): number {
    return this.#nowMs + this.#setByMs;
  }

  steadyNow(): number {
    return this.#nowMs;
  }

  /** Sets the clock, as an administrator or NTP does: timers and steady time do not change. */
  set(nowMs: number): void {
    this.#setByMs = nowMs - this.#nowMs;
  }

  setTimer(ms: number, fn: () => void): CancelTimer {
    const timer: Timer = { atMs: this.#nowMs + Math.max(0, ms), fn };
    this.#timers.splice(this.#placeOf(timer), 0, timer);
    return () => {
      const index = this.#timers.indexOf(timer);
      if (index >= 0) this.#timers.splice(index, 1);
    };
  }

  /** Advances time by `ms` and fires all due timers, including timers set in the meantime. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    await this.settle();
    for (let next = this.#timers.at(-1); next && next.atMs <= endMs; next = this.#timers.at(-1)) {
      await this.#fire(next);
    }
    this.#nowMs = endMs;
  }

  /**
   * Fires the next timer if it is due by then, without running other work afterwards. The caller must wait for that work.
   * @param untilMs - steady time
   * @returns false if no timer was due; the time is then `untilMs`
   */
  step(untilMs: number): boolean {
    const next = this.#timers.at(-1);
    if (!next || next.atMs > untilMs) {
      this.#nowMs = Math.max(this.#nowMs, untilMs);
      return false;
    }
    this.#timers.pop();
    this.#nowMs = Math.max(this.#nowMs, next.atMs);
    next.fn();
    return true;
  }

  /** Advances time from timer to timer until the promise settles, and returns its value. */
  async run<T>(promise: Promise<T>, limitMs = 24 * 3_600_000): Promise<T> {
    const endMs = this.#nowMs + limitMs;
    let settled = false;
    const settle = () => (settled = true);
    promise.then(settle, settle);
    await this.settle();
    while (!settled) {
      const next = this.#timers.at(-1);
      if (!next) throw new Error('nothing is left that could settle the promise: no timer is set');
      if (next.atMs > endMs) throw new Error(`the promise is not settled after ${limitMs} ms`);
      await this.#fire(next);
    }
    return promise;
  }

  /** Runs all work that does not wait for time. */
  async settle(): Promise<void> {
    // An immediate runs after all pending promise callbacks, including chained ones.
    do await new Promise((resolve) => setImmediate(resolve));
    while (await this.#idle?.());
  }

  async #fire(timer: Timer): Promise<void> {
    this.#timers.pop();
    this.#nowMs = Math.max(this.#nowMs, timer.atMs);
    timer.fn();
    await this.settle();
  }

  #placeOf(timer: Timer): number {
    let low = 0;
    let high = this.#timers.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#timers[middle];
      if (other && other.atMs > timer.atMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
