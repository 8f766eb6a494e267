import type { Random } from '@nodepool/core/testing';

/** The longest that a call takes effect after its caller gave up. */
const MOST_LATE_MS = 60_000;

/** Quality of a connection to a cloud; changes over time. */
export class CloudWeather {
  /** Mean latency of one direction, in ms. */
  latencyMs: number;
  /** Share of lost calls. */
  lostCalls = 0;
  /** Share of lost responses. */
  lostAnswers = 0;
  /** Share of calls whose answers are lost and that take effect late. */
  lateCalls = 0;
  /** Flavor of which no instance can be made. */
  brokenFlavor: string | undefined;
  /** Whether orders of that flavor are never answered; otherwise they fail at once. */
  isBrokenSlow = false;
  /** Mean time until a loss is detected, in ms. */
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

  /** Random time until a caller detects a loss. */
  silenceMs(): number {
    return this.#random.exponential(this.patienceMs);
  }

  losesCall(): boolean {
    return this.#random.chance(this.lostCalls);
  }

  losesAnswer(): boolean {
    return this.#random.chance(this.lostAnswers);
  }

  /** How late a call takes effect whose caller gets no answer; `undefined`: it is not late. */
  latenessMs(): number | undefined {
    return this.lateCalls > 0 && this.#random.chance(this.lateCalls)
      ? this.#random.between(0, MOST_LATE_MS)
      : undefined;
  }

  /** Restores normal conditions. */
  calm(): void {
    this.latencyMs = this.#usualMs;
    this.lostCalls = 0;
    this.lostAnswers = 0;
    this.lateCalls = 0;
    this.brokenFlavor = undefined;
    this.isBrokenSlow = false;
  }
}
