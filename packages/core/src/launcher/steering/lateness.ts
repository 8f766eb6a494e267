import { Health, type HealthLimits, type HealthReport } from './health.js';

/** Calls back after a time, unless it is cancelled before. @returns to cancel it */
export type Later = (ms: number, then: () => void) => () => void;

/** What a {@link Lateness} needs to know. */
export interface LatenessOptions {
  readonly now: () => number;
  readonly later: Later;
  readonly limits: HealthLimits;
  /** How long a launch of the label may take; `undefined` while that is not known. */
  readonly lateAfterMs: (label: string) => number | undefined;
  /** A launch of the label is late: it need not be waited for. */
  readonly overdue: (label: string) => void;
  /** The provider is slow now, or is not any more, or is to be probed at another time. */
  readonly changed: () => void;
}

/** What takes so long for longer than this is usual from then on. */
const LONGEST_MS = 3_600_000;

/** A launch while its time is watched. */
export interface WatchedLaunch {
  /** The cloud has begun to make the instance, of this attempt: from here its time counts. */
  created(): void;
  /**
   * This attempt is over.
   * @param isReady - and there is a node
   * @returns whether the time it took says what is usual: that of a late one does not while the provider is slow
   */
  ended(isReady: boolean): boolean;
}

/**
 * Whether a provider is slow: several launches in a row take much longer than usual. Known as soon as they do, long before
 * they are ready or time out.
 */
export class Lateness {
  readonly #options: LatenessOptions;
  readonly #health: Health;
  #slowSinceMs = 0;

  constructor(options: LatenessOptions) {
    this.#options = options;
    this.#health = new Health(options.limits);
  }

  /** The provider is slow, and it is not time for a probe. */
  get isSlow(): boolean {
    return !this.#health.mayLaunch(this.#options.now());
  }

  /** The provider is not slow, or not any more. */
  get isOver(): boolean {
    return this.#health.isClosed;
  }

  report(): HealthReport {
    return this.#health.report(this.#options.now());
  }

  /** A launch begins. @param turnsLate - called when it takes much longer than usual */
  watch(label: string, turnsLate: () => void = () => undefined): WatchedLaunch {
    const launch = {};
    this.#health.began(launch);
    let cancel: (() => void) | undefined;
    let isLate = false;
    const late = (afterMs: number) => {
      cancel = undefined;
      isLate = true;
      turnsLate();
      this.#late(label, afterMs);
    };
    return {
      created: () => {
        cancel?.();
        isLate = false;
        const afterMs = this.#options.lateAfterMs(label);
        cancel = afterMs === undefined ? undefined : this.#options.later(afterMs, () => late(afterMs));
      },
      ended: (isReady) => {
        const isInTime = cancel !== undefined && isReady;
        cancel?.();
        cancel = undefined;
        if (isInTime && this.#health.succeeded()) this.#options.changed();
        else if (!isInTime && !isLate) this.#health.endedOtherwise(launch);
        return !isLate || this.#health.isClosed || this.#options.now() - this.#slowSinceMs >= LONGEST_MS;
      },
    };
  }

  #late(label: string, afterMs: number): void {
    const { now, overdue, changed } = this.#options;
    overdue(label);
    if (this.#health.isClosed) this.#slowSinceMs = now();
    const error = `launches of "${label}" take longer than ${Math.round(afterMs / 1_000)} s`;
    if (this.#health.failed(error, now())) changed();
  }
}
