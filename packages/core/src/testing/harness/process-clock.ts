import type { CancelTimer, Clock } from '@nodepool/zk-protocol';

/** Time as one process, or one part of it, sees it: its timers are counted, and die with it. */
export class ProcessClock implements Clock {
  readonly #world: Clock;
  readonly #timers = new Set<CancelTimer>();
  #isDead = false;

  constructor(world: Clock) {
    this.#world = world;
  }

  /** Timers that have neither fired nor been cancelled. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  now(): number {
    return this.#world.now();
  }

  setTimer(ms: number, fn: () => void): CancelTimer {
    if (this.#isDead) return () => {};
    const cancel = this.#world.setTimer(ms, () => {
      this.#timers.delete(cancel);
      fn();
    });
    this.#timers.add(cancel);
    return () => {
      if (this.#timers.delete(cancel)) cancel();
    };
  }

  /** The process is gone: nothing it waits for happens any more. */
  kill(): void {
    this.#isDead = true;
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
  }
}
