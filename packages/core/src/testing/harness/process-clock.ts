import type { CancelTimer, Clock } from '@nodepool/zk-protocol';

/**
 * Clock of one process, or of a part of one, on a shared clock. It counts the timers of the process, delays them
 * while the process stalls, and cancels them when the process dies.
 */
export class ProcessClock implements Clock {
  readonly #world: Clock;
  readonly #aheadMs: number;
  readonly #timers = new Set<CancelTimer>();
  /** Timers that became due while the process stalled, in order. */
  readonly #late: (() => void)[] = [];
  #stalledUntilMs = -Infinity;
  #isDead = false;

  /**
   * @param world - clock shared by all processes
   * @param aheadMs - how far the clock of this process is wrong
   */
  constructor(world: Clock, aheadMs = 0) {
    this.#world = world;
    this.#aheadMs = aheadMs;
  }

  /** Timers that have neither fired nor been cancelled. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Current time in whole milliseconds, like in a real process. */
  now(): number {
    return Math.floor(this.#world.now() + this.#aheadMs);
  }

  setTimer(ms: number, fn: () => void): CancelTimer {
    if (this.#isDead) return () => {};
    const act = () => {
      if (this.#timers.delete(cancel)) fn();
    };
    const cancel = this.#world.setTimer(ms, () => {
      if (this.#world.now() < this.#stalledUntilMs) this.#late.push(act);
      else act();
    });
    this.#timers.add(cancel);
    return () => {
      if (this.#timers.delete(cancel)) cancel();
    };
  }

  /** Stalls the process for this time: timers that become due are delayed. */
  stall(ms: number): void {
    this.#stalledUntilMs = Math.max(this.#stalledUntilMs, this.#world.now() + ms);
    this.#world.setTimer(this.#stalledUntilMs - this.#world.now(), () => this.#catchUp());
  }

  /** Ends the process: cancels all timers and ignores new ones. */
  kill(): void {
    this.#isDead = true;
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    this.#late.length = 0;
  }

  /** Fires delayed timers one at a time, so that promise callbacks run in between. */
  #catchUp(): void {
    if (this.#world.now() < this.#stalledUntilMs) return;
    const act = this.#late.shift();
    if (act === undefined) return;
    act();
    this.#world.setTimer(0, () => this.#catchUp());
  }
}
