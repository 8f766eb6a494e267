/** Times that are taken of each interval; a herd must not become what is usual within one. */
const PER_INTERVAL = 32;
const INTERVAL_MS = 600_000;
/** Intervals remembered: what has changed for good is usual after half as many. */
const INTERVALS = 12;

/**
 * How long machines of one kind usually take from creation until they are ready: the median of the medians of intervals, so
 * that neither single machines nor a herd change it, and a new image does within hours. Knows no clock: times are given.
 */
export class BootTimes {
  readonly #medians: number[] = [];
  #times: number[] = [];
  #beganMs = 0;
  #usualMs: number | undefined;

  /** @param tookMs - from creation until ready */
  note(tookMs: number, nowMs: number): void {
    if (this.#times.length > 0 && nowMs - this.#beganMs >= INTERVAL_MS) {
      this.#medians.push(medianOf(this.#times));
      if (this.#medians.length > INTERVALS) this.#medians.shift();
      this.#times = [];
      this.#usualMs = medianOf(this.#medians);
    }
    if (this.#times.length === 0) this.#beganMs = nowMs;
    if (this.#times.length >= PER_INTERVAL) return;
    this.#times.push(tookMs);
    if (this.#medians.length === 0) this.#usualMs = medianOf(this.#times);
  }

  /** In ms; `undefined` while nothing is known. */
  get usualMs(): number | undefined {
    return this.#usualMs;
  }
}

/** The lower one of two in the middle. */
function medianOf(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[(values.length - 1) >>> 1] ?? 0;
}
