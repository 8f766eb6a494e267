import type { CancelTimer, Clock } from '@nodepool/zk-protocol';
import type { Launch } from '../events.js';
import { Health, type HealthLimits, type HealthReport } from './health.js';
import type { Ramp } from './ramp.js';

/** What takes so long for longer than this is usual from then on. */
const LONGEST_MS = 3_600_000;

interface Watched {
  /** Set while the time of an attempt counts, and it is not late. */
  cancel?: CancelTimer | undefined;
  isLate?: boolean;
}

/**
 * Whether a provider is slow: several launches in a row take much longer than usual. Known as soon as they do, long before
 * they are ready or time out.
 */
export class Lateness {
  readonly #clock: Clock;
  readonly #ramp: Ramp;
  readonly #health: Health;
  readonly #launches = new Map<Launch, Watched>();
  readonly #listeners = new Set<(launch: Launch, isChanged: boolean) => void>();
  #slowSinceMs = 0;

  /** @param ramp - knows what is usual */
  constructor(clock: Clock, ramp: Ramp, limits: HealthLimits) {
    this.#clock = clock;
    this.#ramp = ramp;
    this.#health = new Health(limits);
  }

  /** The provider is slow, and it is not time for a probe. */
  get isSlow(): boolean {
    return !this.#health.mayLaunch(this.#clock.now());
  }

  /** The provider is not slow, or not any more. */
  get isOver(): boolean {
    return this.#health.isHealthy;
  }

  report(): HealthReport {
    return this.#health.report(this.#clock.now());
  }

  /** Calls the listener when a launch is late: it need not be waited for. `isChanged`: the provider is slow now, or probed later. */
  onLate(listener: (launch: Launch, isChanged: boolean) => void): void {
    this.#listeners.add(listener);
  }

  launchBegun(launch: Launch): void {
    this.#health.launchBegun(launch);
    this.#launches.set(launch, {});
  }

  /** From here the time of this attempt counts. */
  instanceCreated(launch: Launch): void {
    const watched = this.#launches.get(launch);
    if (!watched) return;
    watched.cancel?.();
    const afterMs = this.#ramp.lateAfterMs(launch.label);
    const late = () => {
      this.#launches.set(launch, { isLate: true });
      this.#late(launch, afterMs ?? 0);
    };
    this.#launches.set(launch, afterMs === undefined ? {} : { cancel: this.#clock.setTimer(afterMs, late) });
  }

  attemptFailed(launch: Launch): void {
    const watched = this.#launches.get(launch);
    if (!watched) return;
    watched.cancel?.();
    watched.cancel = undefined;
    if (watched.isLate !== true) this.#health.launchEnded(launch);
  }

  /** Whether the time a launch takes says what is usual: that of a late one does not while the provider is slow. */
  isUsual(launch: Launch): boolean {
    const isLate = this.#launches.get(launch)?.isLate === true;
    return !isLate || this.#health.isHealthy || this.#clock.now() - this.#slowSinceMs >= LONGEST_MS;
  }

  /** @returns whether the provider is not slow any more */
  launchEnded(launch: Launch, isReady: boolean): boolean {
    const isInTime = this.#launches.get(launch)?.cancel !== undefined && isReady;
    this.attemptFailed(launch);
    this.#launches.delete(launch);
    return isInTime && this.#health.succeeded();
  }

  /** Launches are not late any more. */
  close(): void {
    for (const { cancel } of this.#launches.values()) cancel?.();
  }

  #late(launch: Launch, afterMs: number): void {
    const nowMs = this.#clock.now();
    if (this.#health.isHealthy) this.#slowSinceMs = nowMs;
    const error = `launches of "${launch.label}" take longer than ${Math.round(afterMs / 1_000)} s`;
    const isChanged = this.#health.failed(error, nowMs);
    for (const listener of this.#listeners) listener(launch, isChanged);
  }
}
