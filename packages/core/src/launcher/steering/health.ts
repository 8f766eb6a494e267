import { backoffMs } from '@nodepool/zk-protocol';
import { reasonOfError, type ErrorReason } from '../../conditions/error-reason.js';

/**
 * - `closed` works; launches continue as usual
 * - `open` fails; nothing is begun before `nextProbeMs`
 * - `probing` one launch is under way, or may be begun, to find out
 */
export type HealthState = 'closed' | 'open' | 'probing';

/** How a provider, zone or type does, as data for explain, `/healthz` and metrics. */
export interface HealthReport {
  readonly state: HealthState;
  /** Failures since the last success. */
  readonly failures: number;
  /** Of the last failure since the last success; `undefined` when there was none. */
  readonly error: string | undefined;
  /** Class of that error. */
  readonly reason: ErrorReason | undefined;
  /** When it was, ms since the epoch. */
  readonly failedMs: number | undefined;
  /** Since when it is not `closed`, ms since the epoch. */
  readonly sinceMs: number | undefined;
  /** When the next launch may be tried, ms since the epoch; `undefined` unless `open`. */
  readonly nextProbeMs: number | undefined;
}

/** When to give up on something, and how often to look whether it is better. */
export interface HealthLimits {
  /** Failures in a row that open. */
  readonly failuresToOpen: number;
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
}

/** Three in a row are no accident at a failure rate of 5 %; a probe once a minute finds a recovery within five. */
export const DEFAULT_HEALTH_LIMITS: HealthLimits = { failuresToOpen: 3, firstPauseMs: 10_000, longestPauseMs: 120_000 };

const NONE = { error: undefined, reason: undefined, failedMs: undefined };

/**
 * A circuit breaker: opened by failures in a row, tried with one launch at a time at growing pauses, closed by a success.
 * Knows no clock: times are given.
 */
export class Health {
  readonly #limits: HealthLimits;
  #failures = 0;
  #last: Pick<HealthReport, 'error' | 'reason' | 'failedMs'> = NONE;
  #sinceMs: number | undefined;
  #opened = 0;
  #nextProbeMs = 0;
  #isOpen = false;
  /** The launch that finds out, while one is under way. */
  #probe: object | undefined;

  constructor(limits: HealthLimits = DEFAULT_HEALTH_LIMITS) {
    this.#limits = limits;
  }

  /** Whether nothing is known against it. */
  get isClosed(): boolean {
    return !this.#isOpen;
  }

  /** Whether a launch may be begun: it works, or it is time for a probe and none is under way. */
  mayLaunch(nowMs: number): boolean {
    return !this.#isOpen || (this.#probe === undefined && nowMs >= this.#nextProbeMs);
  }

  /** A launch has begun; while open, it is the probe, unless another one is. */
  began(launch: object): void {
    if (this.#isOpen) this.#probe ??= launch;
  }

  /** A launch has ended well. @returns whether the state is another one now */
  succeeded(): boolean {
    const changed = this.#isOpen;
    this.#failures = this.#opened = 0;
    this.#isOpen = false;
    this.#probe = undefined;
    this.#last = NONE;
    this.#sinceMs = undefined;
    return changed;
  }

  /**
   * A launch has failed. Those that were begun before it opened make the pause no longer.
   * @returns whether the state is another one now
   */
  failed(error: Error | string, nowMs: number): boolean {
    this.#failures++;
    const message = typeof error === 'string' ? error : error.message;
    this.#last = { error: message, reason: reasonOfError(error), failedMs: nowMs };
    if (this.#isOpen && this.#probe === undefined) return false;
    if (!this.#isOpen && this.#failures < this.#limits.failuresToOpen) return false;
    this.#isOpen = true;
    this.#sinceMs ??= nowMs;
    this.#pause(nowMs);
    return true;
  }

  /**
   * The probe takes too long: the next one does not wait until this one has ended.
   * @returns whether the state is another one now
   */
  overdue(nowMs: number): boolean {
    const changed = this.#probe !== undefined;
    if (changed) this.#pause(nowMs);
    return changed;
  }

  /** A launch has ended and says nothing, e.g. for lack of quota: if it was the probe, another one may be. */
  endedOtherwise(launch: object): void {
    if (this.#probe === launch) this.#probe = undefined;
  }

  report(nowMs: number): HealthReport {
    const isDue = this.#probe !== undefined || nowMs >= this.#nextProbeMs;
    return {
      state: !this.#isOpen ? 'closed' : isDue ? 'probing' : 'open',
      failures: this.#failures,
      ...this.#last,
      sinceMs: this.#sinceMs,
      nextProbeMs: this.#isOpen && !isDue ? this.#nextProbeMs : undefined,
    };
  }

  #pause(nowMs: number): void {
    const { firstPauseMs, longestPauseMs } = this.#limits;
    this.#nextProbeMs = nowMs + backoffMs(this.#opened++, { firstMs: firstPauseMs, longestMs: longestPauseMs });
    this.#probe = undefined;
  }
}
