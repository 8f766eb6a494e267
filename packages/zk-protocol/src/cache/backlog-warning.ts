import type { Clock } from '../base/clock.js';
import type { ZooKeeperLogger } from '../base/logger.js';

const LIMIT = 1024;
const EVERY_MS = 60_000;

/** Warns at most once a minute that a cache lags behind. */
export class BacklogWarning {
  readonly #clock: Clock;
  readonly #logger: ZooKeeperLogger;
  readonly #what: string;
  #lastMs = -Infinity;

  /** @param what - kind of record, for the log line */
  constructor(clock: Clock, logger: ZooKeeperLogger, what: string) {
    this.#clock = clock;
    this.#logger = logger;
    this.#what = what;
  }

  /** @param waiting - number of changes to be read */
  check(waiting: number): void {
    if (waiting <= LIMIT) return;
    const nowMs = this.#clock.now();
    if (nowMs - this.#lastMs < EVERY_MS) return;
    this.#lastMs = nowMs;
    this.#logger.warn('Cache lags behind ZooKeeper: many changed records to read', { what: this.#what, waiting });
  }
}
