import { steadyNow, type CancelTimer, type Clock, type RequestId } from '@nodepool/zk-protocol';

/** The pause as a multiple of the time that first pools have needed lately. */
const TIMES_USUAL = 4;
/** The longest time for which requests are left to busy first pools, in ms. */
export const LONGEST_PAUSE_MS = 2_000;
/** A request that was taken later than this waited for something else than a busy launcher. */
const LATEST_MS = 1_000;
/** Weight of one request in the moving average. */
const WEIGHT = 1 / 16;

interface WaitingRequest {
  readonly sinceMs: number;
  readonly dueMs: number;
  readonly whenOver: (id: RequestId) => void;
}

/**
 * The pauses during which a pool leaves requests to the first pool of each. A pause lasts several times as long as first pools
 * usually need, so that not all launchers help a busy one at once. One timer serves all requests.
 */
export class FirstPoolPauses {
  readonly #clock: Clock;
  readonly #waiting = new Map<RequestId, WaitingRequest>();
  /** Requests whose pause is over, and since when they wait. */
  readonly #over = new Map<RequestId, number>();
  /** Moving average of the time that requests have waited for their first pools. */
  #usualMs = 0;
  #timer: { readonly dueMs: number; readonly cancel: CancelTimer } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Starts the pause of a waiting request, unless it has one already.
   * @param leastMs - the shortest pause
   * @param whenOver - called at the end of the pause
   */
  note(id: RequestId, leastMs: number, whenOver: (id: RequestId) => void): void {
    if (this.#waiting.has(id) || this.#over.has(id)) return;
    const sinceMs = steadyNow(this.#clock);
    const dueMs = sinceMs + Math.max(leastMs, Math.min(LONGEST_PAUSE_MS, this.#usualMs * TIMES_USUAL));
    if (dueMs <= steadyNow(this.#clock)) {
      this.#over.set(id, sinceMs);
      return;
    }
    this.#waiting.set(id, { sinceMs, dueMs, whenOver });
    if (dueMs < (this.#timer?.dueMs ?? Infinity)) this.#arm();
  }

  /** Another pool has taken the request. If it waits again, it gets another pause. */
  taken(id: RequestId): void {
    const sinceMs = this.#waiting.get(id)?.sinceMs ?? this.#over.get(id);
    const tookMs = sinceMs === undefined ? Infinity : steadyNow(this.#clock) - sinceMs;
    if (tookMs <= LATEST_MS) this.#usualMs += (tookMs - this.#usualMs) * WEIGHT;
    this.forget(id);
  }

  /** The request does not wait any more. If it waits again, it gets another pause. */
  forget(id: RequestId): void {
    this.#waiting.delete(id);
    this.#over.delete(id);
  }

  /** Whether the request is still left to its first pool. */
  isPausing(id: RequestId): boolean {
    return this.#waiting.has(id);
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#waiting.clear();
    this.#over.clear();
  }

  /** Sets the timer to the end of the first pause, as pauses differ. */
  #arm(): void {
    let first = Infinity;
    for (const { dueMs } of this.#waiting.values()) first = Math.min(first, dueMs);
    if (first === Infinity || first >= (this.#timer?.dueMs ?? Infinity)) return;
    this.#timer?.cancel();
    const cancel = this.#clock.setTimer(Math.max(0, first - steadyNow(this.#clock)), () => this.#due());
    this.#timer = { dueMs: first, cancel };
  }

  #due(): void {
    this.#timer = undefined;
    const now = steadyNow(this.#clock);
    const due = [...this.#waiting].filter(([, { dueMs }]) => dueMs <= now);
    for (const [id, { sinceMs }] of due) {
      this.#waiting.delete(id);
      this.#over.set(id, sinceMs);
    }
    this.#arm();
    for (const [id, { whenOver }] of due) whenOver(id);
  }
}
