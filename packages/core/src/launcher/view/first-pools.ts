import type { CancelTimer, Clock, RequestId } from '@nodepool/zk-protocol';

/** First pools that are busy get so many times what they have taken lately, but no longer than this. */
const TIMES_USUAL = 4;
/** The longest time for which requests are left to first pools that are busy, in ms. */
export const LONGEST_PAUSE_MS = 2_000;
/** Who was taken later than this waited for something else than a busy launcher. */
const LATEST_MS = 1_000;
/** What one request counts for what is usual. */
const WEIGHT = 1 / 16;

/**
 * The time for which a pool leaves requests to the first pool of each: as long as first pools usually need by far, so that
 * a busy launcher is not helped by all others at once. One timer for all of them.
 */
export class FirstPools {
  readonly #clock: Clock;
  #listener: (id: RequestId) => void = () => undefined;
  /** Since when a request waits, and when its pause is over. */
  readonly #waiting = new Map<RequestId, { readonly sinceMs: number; readonly dueMs: number }>();
  /** Requests whose pause is over, and since when they wait. */
  readonly #over = new Map<RequestId, number>();
  /** How long requests have lately waited for their first pools. */
  #usualMs = 0;
  #timer: { readonly dueMs: number; readonly cancel: CancelTimer } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Tells when the pause of a request is over. */
  onOver(listener: (id: RequestId) => void): void {
    this.#listener = listener;
  }

  /**
   * The request waits; its pause begins when it is seen for the first time.
   * @param leastMs - of the pause
   */
  note(id: RequestId, leastMs: number): void {
    if (this.#waiting.has(id) || this.#over.has(id)) return;
    const sinceMs = this.#clock.now();
    const dueMs = sinceMs + Math.max(leastMs, Math.min(LONGEST_PAUSE_MS, this.#usualMs * TIMES_USUAL));
    if (dueMs <= this.#clock.now()) {
      this.#over.set(id, sinceMs);
      return;
    }
    this.#waiting.set(id, { sinceMs, dueMs });
    if (dueMs < (this.#timer?.dueMs ?? Infinity)) this.#arm();
  }

  /** Another pool has taken the request; should it wait again, it has another pause. */
  taken(id: RequestId): void {
    const sinceMs = this.#waiting.get(id)?.sinceMs ?? this.#over.get(id);
    const tookMs = sinceMs === undefined ? Infinity : this.#clock.now() - sinceMs;
    if (tookMs <= LATEST_MS) this.#usualMs += (tookMs - this.#usualMs) * WEIGHT;
    this.forget(id);
  }

  /** The request waits no more; should it wait again, it has another pause. */
  forget(id: RequestId): void {
    this.#waiting.delete(id);
    this.#over.delete(id);
  }

  /** The request is still to be left to its first pool. */
  isPausing(id: RequestId): boolean {
    return this.#waiting.has(id);
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#waiting.clear();
    this.#over.clear();
  }

  /** For the pause that is over first; pauses differ. */
  #arm(): void {
    let first = Infinity;
    for (const { dueMs } of this.#waiting.values()) first = Math.min(first, dueMs);
    if (first === Infinity || first >= (this.#timer?.dueMs ?? Infinity)) return;
    this.#timer?.cancel();
    const cancel = this.#clock.setTimer(Math.max(0, first - this.#clock.now()), () => this.#due());
    this.#timer = { dueMs: first, cancel };
  }

  #due(): void {
    this.#timer = undefined;
    const now = this.#clock.now();
    const due = [...this.#waiting].filter(([, { dueMs }]) => dueMs <= now);
    for (const [id, { sinceMs }] of due) {
      this.#waiting.delete(id);
      this.#over.set(id, sinceMs);
    }
    this.#arm();
    for (const [id] of due) this.#listener(id);
  }
}
