import { Allowance } from '@nodepool/core/service';
import type { Clock } from '@nodepool/zk-protocol';
import { writeParts } from './write-parts.js';

/** CPU time for answers to anonymous clients, in milliseconds. */
const CPU_TIME = { most: 500, perSecond: 250 };

/**
 * Limits the CPU time of answers that are computed for each call. Measures their cost, so that cheap answers are hardly ever
 * refused, and expensive ones cannot delay the work on requests.
 */
export class ComputeBudget {
  readonly #measure: () => number;
  readonly #time: Allowance;
  #writing: Promise<unknown> = Promise.resolve();

  /** @param measure - monotonic clock, milliseconds */
  constructor(clock: Clock, measure: () => number = () => performance.now()) {
    this.#measure = measure;
    this.#time = new Allowance({ clock, ...CPU_TIME });
  }

  /** @returns the result of `compute`; `undefined` if the budget is spent and it was not called */
  spend<T>(compute: () => T): { readonly result: T } | undefined {
    if (this.#time.left <= 0) return undefined;
    const beganMs = this.#measure();
    try {
      return { result: compute() };
    } finally {
      this.#time.spend(this.#measure() - beganMs);
    }
  }

  /**
   * Writes a long answer in slices. Writes one answer at a time, so that the cost of each counts before the next is admitted.
   * @returns the text; `undefined` if the budget is spent and `parts` was not called
   */
  write(parts: () => Iterable<string>): Promise<Buffer | undefined> {
    const written = this.#writing.then(async () => {
      if (this.#time.left <= 0) return undefined;
      const { body, spentMs } = await writeParts(parts(), this.#measure);
      this.#time.spend(spentMs);
      return body;
    });
    this.#writing = written.catch(() => undefined); // its caller has the error
    return written;
  }
}
