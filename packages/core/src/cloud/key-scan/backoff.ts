import { delay } from '@nodepool/zk-protocol';
import type { Clock } from '@nodepool/zk-protocol';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;
const GROWTH = 1.6;

/** Pauses between attempts: short at first, growing to two seconds, spread by a quarter either way. */
export class Backoff {
  #nextMs = FIRST_PAUSE_MS;
  readonly #clock: Clock;
  readonly #random: () => number;

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Waits the next pause; rejects with the signal's reason on abort. */
  pause(signal: AbortSignal): Promise<void> {
    const ms = this.#nextMs * (0.75 + this.#random() / 2);
    this.#nextMs = Math.min(LONGEST_PAUSE_MS, this.#nextMs * GROWTH);
    return delay(this.#clock, ms, signal);
  }
}
