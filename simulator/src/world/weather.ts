import type { LinkConditions } from '@nodepool/zk-protocol/memory';
import type { Random } from '@nodepool/core/testing';

/** Quality of a connection to ZooKeeper; changes over time. */
export class Weather implements LinkConditions {
  /** Mean latency of one direction, in ms. */
  latencyMs = 1;
  /** Share of connection attempts that fail. */
  refusal = 0;
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  requestDelayMs(): number {
    return this.#random.exponential(this.latencyMs);
  }

  replyDelayMs(): number {
    return this.#random.exponential(this.latencyMs);
  }

  connectDelayMs(): number {
    return this.#random.exponential(this.latencyMs * 4);
  }

  canConnect(): boolean {
    return !this.#random.chance(this.refusal);
  }

  survivors(count: number): number {
    return this.#random.int(0, count);
  }
}
