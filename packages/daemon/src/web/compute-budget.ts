import type { Clock } from '@nodepool/zk-protocol';
import { writeParts } from './write-parts.js';

/** Of each second, what answers to strangers may take from the work on requests. */
const SHARE = 0.25;
/** What may be taken at once after a rest. */
const MOST_MS = 500;

/**
 * Bounds the time spent on answers that are computed for each call. The costs are measured, so that cheap answers are
 * hardly ever refused, and dear ones cannot hold up what the service is there for.
 */
export class ComputeBudget {
  readonly #clock: Clock;
  readonly #measure: () => number;
  #leftMs = MOST_MS;
  #filledMs: number;
  #writing: Promise<unknown> = Promise.resolve();

  /** @param measure - milliseconds of a clock that never steps */
  constructor(clock: Clock, measure: () => number = () => performance.now()) {
    this.#clock = clock;
    this.#measure = measure;
    this.#filledMs = clock.now();
  }

  /** @returns what `compute` gave; `undefined` when the budget is spent: it was not called */
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
   * Writes a long answer in stretches. One is written at a time, so that each is admitted by what those before it cost.
   * @returns the text; `undefined` when the budget is spent: `parts` was not called
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
