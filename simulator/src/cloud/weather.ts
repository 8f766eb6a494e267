import type { Random } from '@nodepool/core/testing';

/** How a cloud is reached; may get worse and better. */
export class CloudWeather {
  /** Mean milliseconds of one way. */
  latencyMs: number;
  /** Share of calls that never arrive. */
  lostCalls = 0;
  /** Share of answers that never arrive. */
  lostAnswers = 0;
  /** Mean milliseconds after which the loss of either is noticed. */
  patienceMs = 10_000;
  readonly #random: Random;
  readonly #usualMs: number;

  constructor(random: Random) {
    this.#random = random;
    this.#usualMs = random.pick([0.5, 5, 50]);
    this.latencyMs = this.#usualMs;
  }

  delayMs(): number {
    return this.#random.exponential(this.latencyMs);
  }

  /** How long a caller waits in vain. */
  silenceMs(): number {
    return this.#random.exponential(this.patienceMs);
  }

  losesCall(): boolean {
    return this.#random.chance(this.lostCalls);
  }

  losesAnswer(): boolean {
    return this.#random.chance(this.lostAnswers);
  }

  /** As on an ordinary day. */
  calm(): void {
    this.latencyMs = this.#usualMs;
    this.lostCalls = 0;
    this.lostAnswers = 0;
  }
}
