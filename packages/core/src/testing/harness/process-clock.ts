import type { CancelTimer, Clock } from '@nodepool/zk-protocol';

/**
 * Time as one process sees it, or one part of it, on a clock that several share: its timers are counted, wait while the
 * process stalls, and die with it.
 */
export class ProcessClock implements Clock {
  readonly #world: Clock;
  readonly #timers = new Set<CancelTimer>();
  /** Due timers that could not run, in the order in which they became due. */
  readonly #late: (() => void)[] = [];
  #stalledUntilMs = -Infinity;
  #isDead = false;

  /** @param world - the clock that all processes share */
  constructor(world: Clock) {
    this.#world = world;
  }

  /** Timers that have neither fired nor been cancelled. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Whole milliseconds, as a process sees them. */
  now(): number {
    return Math.floor(this.#world.now());
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

  /** The process does not run for so many milliseconds: nothing that it waits for reaches it meanwhile. */
  stall(ms: number): void {
    this.#stalledUntilMs = Math.max(this.#stalledUntilMs, this.#world.now() + ms);
    this.#world.setTimer(this.#stalledUntilMs - this.#world.now(), () => this.#catchUp());
  }

  /** The process is gone: nothing that it waits for happens any more. */
  kill(): void {
    this.#isDead = true;
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    this.#late.length = 0;
  }

  /** One timer at a time: promise callbacks run between two of them. */
  #catchUp(): void {
    if (this.#world.now() < this.#stalledUntilMs) return;
    const act = this.#late.shift();
    if (act === undefined) return;
    act();
    this.#world.setTimer(0, () => this.#catchUp());
  }
}
