import type { CancelTimer, Clock, RequestId } from '@nodepool/zk-protocol';
import { FIRST_POOL_PAUSE_MS } from '../steering/first-pool.js';

/** The time for which a pool leaves requests to the first pool of each. One timer for all of them: the pause is the same. */
export class FirstPools {
  readonly #clock: Clock;
  readonly #lookAgain: (id: RequestId) => void;
  /** When the pause of a request is over, in the order of these times. */
  readonly #waiting = new Map<RequestId, number>();
  /** Requests whose pause is over. */
  readonly #over = new Set<RequestId>();
  #cancel: CancelTimer | undefined;

  /** @param lookAgain - the pause of the request is over */
  constructor(clock: Clock, lookAgain: (id: RequestId) => void) {
    this.#clock = clock;
    this.#lookAgain = lookAgain;
  }

  /** The request waits; its pause begins when it is seen for the first time. */
  note(id: RequestId): void {
    if (this.#waiting.has(id) || this.#over.has(id)) return;
    this.#waiting.set(id, this.#clock.now() + FIRST_POOL_PAUSE_MS);
    this.#arm();
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
    this.#cancel?.();
    this.#cancel = undefined;
    this.#waiting.clear();
    this.#over.clear();
  }

  #arm(): void {
    if (this.#cancel) return;
    for (const dueMs of this.#waiting.values()) {
      this.#cancel = this.#clock.setTimer(Math.max(0, dueMs - this.#clock.now()), () => this.#due());
      return;
    }
  }

  #due(): void {
    this.#cancel = undefined;
    const now = this.#clock.now();
    const due: RequestId[] = [];
    for (const [id, dueMs] of this.#waiting) {
      if (dueMs > now) break;
      due.push(id);
    }
    for (const id of due) {
      this.#waiting.delete(id);
      this.#over.add(id);
    }
    this.#arm();
    for (const id of due) this.#lookAgain(id);
  }
}
