import type { Clock } from '@nodepool/zk-protocol';
import type { LogFields, Logger } from '@nodepool/core';

/** For how long further refusals of one client are counted instead of logged. */
const PERIOD_MS = 60_000;
/** How many clients and outcomes are told apart in a period. */
export const MOST_COUNTED = 1_000;
const OTHERS = 'others';

const MESSAGE = 'Write through the web API was refused';

/** A refused write, as it is logged. */
export interface Refused extends LogFields {
  /** Code of the refusal. */
  readonly outcome: string;
}

interface Counted {
  readonly client: string;
  readonly outcome: string;
  /** Refusals that were not logged. */
  count: number;
}

/** Logs refused writes: the first of each client with each outcome at once, and how many more there were once a minute. */
export class RefusalLog {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #counted = new Map<string, Counted>();

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** @param client - name of its token, or what its address counts by */
  refused(client: string, fields: Refused): void {
    const { outcome } = fields;
    const isKnown = this.#counted.has(`${client} ${outcome}`) || this.#counted.size < MOST_COUNTED;
    const counted = isKnown ? { client, outcome, count: 0 } : { client: OTHERS, outcome: OTHERS, count: 0 };
    const key = `${counted.client} ${counted.outcome}`;
    const before = this.#counted.get(key);
    if (before) before.count++;
    else {
      if (this.#counted.size === 0) this.#clock.setTimer(PERIOD_MS, () => this.#endPeriod());
      this.#counted.set(key, counted);
      this.#logger.warn(MESSAGE, fields);
    }
  }

  #endPeriod(): void {
    for (const counted of this.#counted.values()) {
      if (counted.count > 0) this.#logger.warn('More writes through the web API were refused', { ...counted });
    }
    this.#counted.clear();
  }
}
