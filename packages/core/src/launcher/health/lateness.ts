import type { CancelTimer, Clock, ZooKeeper } from '@nodepool/zk-protocol';
import type { Context } from '../state/context.js';
import type { Launch } from '../state/events.js';
import { Health, type HealthLimits, type HealthReport } from './health.js';
import type { Ramp } from './ramp.js';

/** If the provider is slow for longer than this, its durations become the usual ones. */
const LONGEST_MS = 3_600_000;

/** What steering needs of the launcher. */
export interface SteeringContext extends Pick<Context, 'events' | 'clock' | 'logger'> {
  readonly zk: Pick<ZooKeeper, 'state'>;
}

interface Watched {
  /** Set while an attempt runs and is not late. */
  cancel?: CancelTimer | undefined;
  isLate?: boolean;
}

/**
 * Detects a slow provider: several launches in a row take much longer than usual. Detection does not wait until they are ready
 * or time out.
 */
export class Lateness {
  readonly #clock: Clock;
  readonly #zk: Pick<ZooKeeper, 'state'>;
  readonly #ramp: Ramp;
  readonly #health: Health;
  readonly #launches = new Map<Launch, Watched>();
  #slowSinceMs = 0;

  /** @param ramp - knows usual durations */
  constructor({ clock, zk }: Pick<SteeringContext, 'clock' | 'zk'>, ramp: Ramp, limits: HealthLimits) {
    this.#clock = clock;
    this.#zk = zk;
    this.#ramp = ramp;
    this.#health = new Health(limits);
  }

  /** Whether the provider is slow, and no probe is due. */
  get isSlow(): boolean {
    return !this.#health.mayLaunch(this.#clock.now());
  }

  /** Whether the provider is not slow, or not any more. */
  get isOver(): boolean {
    return this.#health.isHealthy;
  }

  report(): HealthReport {
    return this.#health.report(this.#clock.now());
  }

  launchBegun(launch: Launch): void {
    this.#health.launchBegun(launch);
    this.#launches.set(launch, {});
  }

  /**
   * Starts to measure an attempt.
   * @param whenLate - called if the launch is late; `isChanged`: the provider is slow now, or its next probe is postponed
   */
  instanceCreated(launch: Launch, whenLate: (isChanged: boolean) => void): void {
    const watched = this.#launches.get(launch);
    if (!watched) return;
    watched.cancel?.();
    const afterMs = this.#ramp.lateAfterMs(launch.label);
    const late = () => {
      if (this.#zk.state !== 'CONNECTED') return; // it may be ready and wait for ZooKeeper
      this.#launches.set(launch, { isLate: true });
      whenLate(this.#late(launch, afterMs ?? 0));
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

  /** Whether the duration of a launch counts as usual; that of a late one does not while the provider is slow. */
  isUsual(launch: Launch): boolean {
    const isLate = this.#launches.get(launch)?.isLate === true;
    return !isLate || this.#health.isHealthy || this.#clock.now() - this.#slowSinceMs >= LONGEST_MS;
  }

  /** @returns whether the provider has stopped being slow */
  launchEnded(launch: Launch, isReady: boolean): boolean {
    const isInTime = this.#launches.get(launch)?.cancel !== undefined && isReady;
    this.attemptFailed(launch);
    this.#launches.delete(launch);
    return isInTime && this.#health.succeeded();
  }

  /** Cancels all timers. */
  close(): void {
    for (const { cancel } of this.#launches.values()) cancel?.();
  }

  /** @returns whether the state has changed */
  #late(launch: Launch, afterMs: number): boolean {
    const nowMs = this.#clock.now();
    if (this.#health.isHealthy) this.#slowSinceMs = nowMs;
    const error = `launches of "${launch.label}" take longer than ${Math.round(afterMs / 1_000)} s`;
    return this.#health.failed(error, nowMs);
  }
}
