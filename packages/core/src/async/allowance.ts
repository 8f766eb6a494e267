import { steadyNow, type Clock } from '@nodepool/zk-protocol';

/** Options of {@link Allowance}. */
export interface AllowanceOptions {
  readonly clock: Pick<Clock, 'now' | 'steadyNow'>;
  /** What may be spent at once, after a pause. */
  readonly most: number;
  readonly perSecond: number;
}

/** Something that is spent, and comes back with time up to a limit: calls, CPU time, entries of lists. */
export class Allowance {
  readonly #options: AllowanceOptions;
  #left: number;
  #filledMs: number;

  constructor(options: AllowanceOptions) {
    this.#options = options;
    this.#left = options.most;
    this.#filledMs = steadyNow(options.clock);
  }

  /** What may be spent now; below 0 after more was spent than there was. */
  get left(): number {
    const { clock, most, perSecond } = this.#options;
    const nowMs = steadyNow(clock);
    this.#left = Math.min(most, this.#left + ((nowMs - this.#filledMs) / 1_000) * perSecond);
    this.#filledMs = nowMs;
    return this.#left;
  }

  /** Takes away, also more than there is: the caller decides. */
  spend(cost: number): void {
    this.#left = this.left - cost;
  }
}
