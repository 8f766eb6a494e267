import { type Clock, steadyNow } from '../base/clock.js';
import type { Sliced } from './model/sliced.js';

/** Length of a slice. */
const SLICE_MS = 20;
/** Steps between two reads of the clock. */
const STEPS_PER_CHECK = 64;

/** Runs long work in slices, so that the event loop can turn in between. One piece of work at a time. */
export class SlicedWork {
  private work: Sliced<void> | undefined;
  private readonly afterwards: (() => void)[] = [];

  /** @param onDone - called after work that took more than one slice */
  constructor(
    private readonly clock: Clock,
    private readonly onDone: () => void,
  ) {}

  get isBusy(): boolean {
    return this.work !== undefined;
  }

  /** Starts work, and completes it if one slice is enough. Call only when not busy. */
  begin(work: Sliced<void>): void {
    if (!this.runFor(SLICE_MS, work)) {
      this.work = work;
      this.continueLater();
    }
  }

  /** Calls a function now, or after the current work. */
  whenIdle(fn: () => void): void {
    if (this.isBusy) this.afterwards.push(fn);
    else fn();
  }

  /** Completes the current work and everything that waits for it, synchronously. */
  finishNow(): void {
    while (this.work !== undefined) {
      this.runFor(Infinity, this.work);
      this.done();
    }
  }

  private continueLater(): void {
    setImmediate(() => {
      const { work } = this;
      if (work === undefined) return;
      if (this.runFor(SLICE_MS, work)) this.done();
      else this.continueLater();
    });
  }

  private done(): void {
    this.work = undefined;
    for (let next = this.afterwards.shift(); next !== undefined; next = this.afterwards.shift()) {
      next();
      if (this.isBusy) return;
    }
    this.onDone();
  }

  /** @returns whether the work is complete */
  private runFor(ms: number, work: Sliced<void>): boolean {
    const endMs = steadyNow(this.clock) + ms;
    do {
      for (let step = 0; step < STEPS_PER_CHECK; step++) if (work.next().done === true) return true;
    } while (steadyNow(this.clock) < endMs);
    return false;
  }
}
