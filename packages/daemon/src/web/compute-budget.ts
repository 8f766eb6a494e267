import type { Clock } from '@nodepool/zk-protocol';
import { writeParts } from './write-parts.js';

/** Share of the CPU for answers to anonymous clients. */
const SHARE = 0.25;
/** Burst after an idle period. */
const MOST_MS = 500;

/**
 * Limits the CPU time of answers that are computed for each call. Measures their cost, so that cheap answers are hardly ever
 * refused, and expensive ones cannot delay the work on requests.
 */
export class ComputeBudget {
  readonly #clock: Clock;
  readonly #measure: () => number;
  #leftMs = MOST_MS;
  #filledMs: number;
  #writing: Promise<unknown> = Promise.resolve();

  /** @param measure - monotonic clock, milliseconds */
  constructor(clock: Clock, measure: () => number = () => performance.now()) {
    this.#clock = clock;
    this.#measure = measure;
    this.#filledMs = clock.now();
  }

  /** @returns the result of `compute`; `undefined` if the budget is spent and it was not called */
  spend<T>(compute: () => T): { readonly result: T } | undefined {
    if (this.#isSpent()) return undefined;
    const beganMs = this.#measure();
    try {
      return { result: compute() };
    } finally {
      this.#leftMs -= this.#measure() - beganMs;
    }
  }

  /**
   * Writes a long answer in slices. Writes one answer at a time, so that the cost of each counts before the next is admitted.
   * @returns the text; `undefined` if the budget is spent and `parts` was not called
   */
  write(parts: () => Iterable<string>): Promise<Buffer | undefined> {
    const written = this.#writing.then(async () => {
      if (this.#isSpent()) return undefined;
      const { body, spentMs } = await writeParts(parts(), this.#measure);
      this.#leftMs -= spentMs;
      return body;
    });
    this.#writing = written.catch(() => undefined); // its caller has the error
    return written;
  }

  #isSpent(): boolean {
    const nowMs = this.#clock.now();
    this.#leftMs = Math.min(MOST_MS, this.#leftMs + Math.max(0, nowMs - this.#filledMs) * SHARE);
    this.#filledMs = nowMs;
    return this.#leftMs <= 0;
  }
}
