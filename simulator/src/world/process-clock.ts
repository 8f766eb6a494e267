import type { CancelTimer, Clock } from '@nodepool/zk-protocol';

/** Time as one process sees it. Its timers die with it, and wait while it stalls. */
export class ProcessClock implements Clock {
  readonly #world: Clock;
  #stalledUntilMs = 0;
  #isDead = false;
  /** In the order in which they became due. */
  readonly #late: (() => void)[] = [];

  constructor(world: Clock) {
    this.#world = world;
  }

  now(): number {
    return Math.floor(this.#world.now());
  }

  setTimer(ms: number, fn: () => void): CancelTimer {
    let action: (() => void) | undefined = fn;
    const act = () => {
      const run = action;
      action = undefined;
      if (!this.#isDead) run?.();
    };
    const cancel = this.#world.setTimer(ms, () => {
      if (this.#world.now() < this.#stalledUntilMs) this.#late.push(act);
      else act();
    });
    return () => {
      action = undefined;
      cancel();
    };
  }

  /** The process does not run for a while: nothing it waits for reaches it. */
  stall(ms: number): void {
    this.#stalledUntilMs = Math.max(this.#stalledUntilMs, this.#world.now() + ms);
    this.#world.setTimer(this.#stalledUntilMs - this.#world.now(), () => this.#catchUp());
  }

  /** The process is gone. */
  kill(): void {
    this.#isDead = true;
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
