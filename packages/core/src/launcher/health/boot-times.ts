/** The number of times recorded per interval: many launches at once must not decide the median within one interval. */
const PER_INTERVAL = 32;
const INTERVAL_MS = 600_000;
/** The number of intervals remembered; a lasting change is the median after half of them. */
const INTERVALS = 12;

/**
 * The usual time of one kind of machine from creation until ready: the median of the medians of intervals. Neither single
 * machines nor many launches at once change it; a new image does within hours. The caller passes the current time.
 */
export class BootTimes {
  readonly #medians: number[] = [];
  #times: number[] = [];
  #beganMs = 0;
  #usualMs: number | undefined;

  /** Records a time. @param tookMs - from creation until ready */
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

  /** In ms; `undefined` if no time is recorded. */
  get usualMs(): number | undefined {
    return this.#usualMs;
  }
}

/** The lower of the two middle values if their number is even. */
function medianOf(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[(values.length - 1) >>> 1] ?? 0;
}
