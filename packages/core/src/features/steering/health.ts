import { backoffMs } from '@nodepool/zk-protocol';
import { reasonOfError } from '../../conditions/error-reason.js';
import type { HealthReport } from '../../launcher/plan/steering.js';

/** When to consider something failing, and how often to probe it. */
export interface HealthLimits {
  /** Number of failures in a row until it is `failing`. */
  readonly failuresToOpen: number;
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
}

/** At a failure rate of 5 %, three failures in a row are no accident. */
export const DEFAULT_HEALTH_LIMITS: HealthLimits = { failuresToOpen: 3, firstPauseMs: 10_000, longestPauseMs: 120_000 };

const NONE = { error: undefined, reason: undefined, failedMs: undefined };

/**
 * A circuit breaker: failing after several failures in a row, probed with one launch at a time after growing pauses, healthy
 * after a success. The caller passes the current time.
 */
export class Health {
  readonly #limits: HealthLimits;
  #failures = 0;
  #last: Pick<HealthReport, 'error' | 'reason' | 'failedMs'> = NONE;
  #sinceMs: number | undefined;
  #pauses = 0;
  #nextProbeMs = 0;
  #isHealthy = true;
  /** The launch that is the current probe. */
  #probe: object | undefined;

  constructor(limits: HealthLimits = DEFAULT_HEALTH_LIMITS) {
    this.#limits = limits;
  }

  get isHealthy(): boolean {
    return this.#isHealthy;
  }

  /** Whether a launch may start: healthy, or a probe is due. */
  mayLaunch(nowMs: number): boolean {
    return this.#isHealthy || (this.#probe === undefined && nowMs >= this.#nextProbeMs);
  }

  /** Unless healthy, makes the launch the probe if there is none. */
  launchBegun(launch: object): void {
    if (!this.#isHealthy) this.#probe ??= launch;
  }

  /** A launch has succeeded. @returns whether the state has changed */
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
   * A launch has failed. Launches that started while it was healthy do not prolong the pause.
   * @returns whether the state has changed
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
   * The launch takes too long: if it is the probe, the next one does not wait for its end.
   * @returns whether the state has changed
   */
  overdue(launch: object, nowMs: number): boolean {
    const changed = this.#probe === launch;
    if (changed) this.#pause(nowMs);
    return changed;
  }

  /** The launch has ended without a result, e.g. for lack of quota: if it was the probe, another launch may be it. */
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
