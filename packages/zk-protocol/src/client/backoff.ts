import { backoffMs, type BackoffOptions } from '../base/backoff.js';

const FIRST_MS = 100;
const LONGEST_MS = 5_000;

/** Delays between connection attempts: at most an eighth of the session timeout, so that a session outlives several attempts. */
export class Backoff {
  readonly #options: BackoffOptions;
  readonly #random: () => number;
  #failures = 0;

  constructor(sessionTimeoutMs: number, random: () => number) {
    const longestMs = Math.max(FIRST_MS, Math.min(LONGEST_MS, Math.floor(sessionTimeoutMs / 8)));
    this.#options = { firstMs: FIRST_MS, longestMs, jitter: 0.5 };
    this.#random = random;
  }

  /** The delay before the next attempt, in milliseconds. */
  next(): number {
    return Math.round(backoffMs(this.#failures++, this.#options, this.#random));
  }

  reset(): void {
    this.#failures = 0;
  }
}
