const FIRST_MS = 100;
const MAX_MS = 5_000;

/** Doubling pauses between 0.1 and 5 s, each shortened at random by up to half. */
export class Backoff {
  readonly #random: () => number;
  #nextMs = FIRST_MS;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** The pause before the next attempt, in milliseconds. */
  next(): number {
    const pauseMs = this.#nextMs;
    this.#nextMs = Math.min(pauseMs * 2, MAX_MS);
    return Math.round(pauseMs * (1 - this.#random() / 2));
  }

  reset(): void {
    this.#nextMs = FIRST_MS;
  }
}
