const FIRST_MS = 100;
const MAX_MS = 5_000;

/**
 * Doubling pauses from 0.1 s to at most 5 s or an eighth of the session timeout, so that a session outlives several
 * attempts. Each is shortened at random by up to half.
 */
export class Backoff {
  readonly #random: () => number;
  readonly #maxMs: number;
  #nextMs = FIRST_MS;

  constructor(sessionTimeoutMs: number, random: () => number) {
    this.#maxMs = Math.max(FIRST_MS, Math.min(MAX_MS, Math.floor(sessionTimeoutMs / 8)));
    this.#random = random;
  }

  /** The pause before the next attempt, in milliseconds. */
  next(): number {
    const pauseMs = Math.min(this.#nextMs, this.#maxMs);
    this.#nextMs = pauseMs * 2;
    return Math.round(pauseMs * (1 - this.#random() / 2));
  }

  reset(): void {
    this.#nextMs = FIRST_MS;
  }
}
