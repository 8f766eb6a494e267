import { backoffMs } from '@nodepool/zk-protocol';
import { reasonOfError, type ErrorReason } from '../../conditions/error-reason.js';

/**
 * - `healthy` works; launches continue as usual
 * - `failing` nothing is begun before `nextProbeMs`
 * - `probing` one launch is under way, or may be begun, to find out
 */
export type HealthState = 'healthy' | 'failing' | 'probing';

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
  /** Since when it is not `healthy`, ms since the epoch. */
  readonly sinceMs: number | undefined;
  /** When the next launch may be tried, ms since the epoch; `undefined` unless `failing`. */
  readonly nextProbeMs: number | undefined;
}

/** When to give up on something, and how often to look whether it is better. */
export interface HealthLimits {
  /** After so many failures in a row it is `failing`. */
  readonly failuresToOpen: number;
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
}

/** Three in a row are no accident at a failure rate of 5 %; a probe once a minute finds a recovery within five. */
export const DEFAULT_HEALTH_LIMITS: HealthLimits = { failuresToOpen: 3, firstPauseMs: 10_000, longestPauseMs: 120_000 };

const NONE = { error: undefined, reason: undefined, failedMs: undefined };

/**
 * A circuit breaker: failing after failures in a row, tried with one launch at a time at growing pauses, healthy after a success.
 * Knows no clock: times are given.
 */
export class Health {
  readonly #limits: HealthLimits;
  #failures = 0;
  #last: Pick<HealthReport, 'error' | 'reason' | 'failedMs'> = NONE;
  #sinceMs: number | undefined;
  #pauses = 0;
  #nextProbeMs = 0;
  #isHealthy = true;
  /** The launch that finds out, while one is under way. */
  #probe: object | undefined;

  constructor(limits: HealthLimits = DEFAULT_HEALTH_LIMITS) {
    this.#limits = limits;
  }

  /** Whether nothing is known against it. */
  get isHealthy(): boolean {
    return this.#isHealthy;
  }

  /** Whether a launch may be begun: it works, or it is time for a probe and none is under way. */
  mayLaunch(nowMs: number): boolean {
    return this.#isHealthy || (this.#probe === undefined && nowMs >= this.#nextProbeMs);
  }

  /** Unless it is healthy, the launch is the probe, or another one is. */
  launchBegun(launch: object): void {
    if (!this.#isHealthy) this.#probe ??= launch;
  }

  /** A launch has ended well. @returns whether the state is another one now */
  succeeded(): boolean {
    const changed = !this.#isHealthy;
    this.#failures = this.#pauses = 0;
    this.#isHealthy = true;
    this.#probe = undefined;
    this.#last = NONE;
    this.#sinceMs = undefined;
    return changed;
  }

  /**
   * A launch has failed. Those that were begun while it was healthy make the pause no longer.
   * @returns whether the state is another one now
   */
  failed(error: Error | string, nowMs: number): boolean {
    this.#failures++;
    const message = typeof error === 'string' ? error : error.message;
    this.#last = { error: message, reason: reasonOfError(error), failedMs: nowMs };
    if (!this.#isHealthy && this.#probe === undefined) return false;
    if (this.#isHealthy && this.#failures < this.#limits.failuresToOpen) return false;
    this.#isHealthy = false;
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

  /** It says nothing, e.g. for lack of quota, or nothing more: if it was the probe, another one may be. */
  launchEnded(launch: object): void {
    if (this.#probe === launch) this.#probe = undefined;
  }

  report(nowMs: number): HealthReport {
    const isDue = this.#probe !== undefined || nowMs >= this.#nextProbeMs;
    return {
      state: this.#isHealthy ? 'healthy' : isDue ? 'probing' : 'failing',
      failures: this.#failures,
      ...this.#last,
      sinceMs: this.#sinceMs,
      nextProbeMs: !this.#isHealthy && !isDue ? this.#nextProbeMs : undefined,
    };
  }

  #pause(nowMs: number): void {
    const { firstPauseMs, longestPauseMs } = this.#limits;
    this.#nextProbeMs = nowMs + backoffMs(this.#pauses++, { firstMs: firstPauseMs, longestMs: longestPauseMs });
    this.#probe = undefined;
  }
}
