/** The usual time is the median of so many times at first. */
const FIRST = 5;
/** In this time the usual one doubles at most, or becomes half as long. */
const DOUBLES_IN_MS = 3_600_000;
/** No launch changes it more than one that comes so long after the one before. */
const LONGEST_PAUSE_MS = 600_000;

/**
 * The usual time of one kind of machine from creation until ready. It follows the measured times slowly, so that neither single
 * machines nor many at once make an incident usual; a new image does within hours. The caller passes the current time.
 */
export class UsualTime {
  readonly #first: number[] = [];
  #ms = 0;
  #notedMs = 0;

  /** In ms. */
  get ms(): number {
    return this.#ms;
  }

  /**
   * Records a time.
   * @param tookMs - from creation until ready
   * @param nowMs - steady time
   */
  note(tookMs: number, nowMs: number): void {
    if (this.#first.length < FIRST) {
      this.#first.push(tookMs);
      this.#ms = this.#first.toSorted((a, b) => a - b)[(this.#first.length - 1) >>> 1] ?? tookMs;
    } else {
      const most = 2 ** (Math.min(nowMs - this.#notedMs, LONGEST_PAUSE_MS) / DOUBLES_IN_MS);
      this.#ms = Math.min(Math.max(tookMs, this.#ms / most), this.#ms * most);
    }
    this.#notedMs = nowMs;
  }
}
