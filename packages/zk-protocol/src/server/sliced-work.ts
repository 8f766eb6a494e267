import { type Clock, steadyNow } from '../base/clock.js';
import type { Sliced } from './model/sliced.js';

/** The event loop turns after so much work. */
const SLICE_MS = 20;
/** Looking at the clock is done once for so many steps. */
const STEPS_PER_LOOK = 64;

/** Does one piece of long work at a time, in slices between which the event loop turns. */
export class SlicedWork {
  private work: Sliced<void> | undefined;
  private readonly afterwards: (() => void)[] = [];

  /** @param onDone - called when work has ended that took more than one slice */
  constructor(
    private readonly clock: Clock,
    private readonly onDone: () => void,
  ) {}

  get isBusy(): boolean {
    return this.work !== undefined;
  }

  /** Begins work, and ends it at once if one slice is enough. To be called when it is not busy. */
  begin(work: Sliced<void>): void {
    if (!this.runFor(SLICE_MS, work)) {
      this.work = work;
      this.continueLater();
    }
  }

  /** Calls a function that must not run in the middle of work: now, or when it has ended. */
  whenIdle(fn: () => void): void {
    if (this.isBusy) this.afterwards.push(fn);
    else fn();
  }

  /** Ends the work in progress, and all that waited for it, without another turn of the event loop. */
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

  /** @returns whether the work has ended */
  private runFor(ms: number, work: Sliced<void>): boolean {
    const endMs = steadyNow(this.clock) + ms;
    do {
      for (let step = 0; step < STEPS_PER_LOOK; step++) if (work.next().done === true) return true;
    } while (steadyNow(this.clock) < endMs);
    return false;
  }
}
