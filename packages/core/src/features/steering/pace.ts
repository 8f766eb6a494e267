import { steadyNow, type CancelTimer, type Clock, type ZooKeeper } from '@nodepool/zk-protocol';
import type { HealthReport } from '../../launcher/plan/steering.js';
import type { Launch } from '../../launcher/state/events.js';
import { Health, type HealthLimits } from './health.js';
import { UsualTime } from './usual-time.js';

/** Launches at once until launches in time show that the cloud can do more. */
export const LAUNCHES_AT_ONCE = 100;
/** A launch is late if it takes longer than the usual time multiplied by this... */
const LATE_FACTOR = 1.5;
/** ... and longer than the usual time plus this: smaller delays may have other causes than the cloud. */
const LATE_MS = 5_000;
/** A launch is late after this time where no usual time is known. It then is no sign of a slow provider. */
const LATE_UNKNOWN_MS = 120_000;

interface Attempt {
  /** Steady time. */
  readonly beganMs: number;
  readonly cancel: CancelTimer;
  isLate: boolean;
}

/** What a {@link Pace} uses of the launcher. */
export interface PaceContext {
  readonly clock: Clock;
  readonly zk: Pick<ZooKeeper, 'state'>;
}

/**
 * How long launches of one provider take, while they are in progress: several in a row that take much longer than usual make it
 * slow, long before they are ready or time out. Launches in time raise the limit on concurrent launches.
 */
export class Pace {
  readonly #context: PaceContext;
  readonly #slow: Health;
  readonly #whenLate: (launch: Launch, isChanged: boolean) => void;
  readonly #launches = new Map<Launch, Attempt>();
  readonly #usual = new Map<string, UsualTime>();
  #limit = LAUNCHES_AT_ONCE;

  /** @param whenLate - called when a launch is late; `isChanged`: the provider is slow now, or its next probe is postponed */
  constructor(context: PaceContext, limits: HealthLimits, whenLate: (launch: Launch, isChanged: boolean) => void) {
    this.#context = context;
    this.#slow = new Health(limits);
    this.#whenLate = whenLate;
  }

  /** Whether the provider is slow, and no request is due that shows whether it still is. */
  get isSlow(): boolean {
    return !this.#slow.mayLaunch(this.#context.clock.now());
  }

  /** Whether the provider is not slow, or not any more. */
  get isOver(): boolean {
    return this.#slow.isHealthy;
  }

  /** The limit on concurrent launches. */
  get launchLimit(): number {
    return this.#limit;
  }

  /** Whether the launch is in progress. */
  has(launch: Launch): boolean {
    return this.#launches.has(launch);
  }

  /** Launches in progress that are not late. */
  *inTime(): Generator<Launch> {
    for (const [launch, { isLate }] of this.#launches) if (!isLate) yield launch;
  }

  /** `healthy` unless the provider is slow. */
  report(): HealthReport {
    return this.#slow.report(this.#context.clock.now());
  }

  launchBegun(launch: Launch): void {
    this.#slow.launchBegun(launch);
    this.#watch(launch, Math.max(this.#lateAfterMs(launch.label) ?? 0, LATE_UNKNOWN_MS), false);
  }

  /** Starts to measure an attempt. */
  instanceCreated(launch: Launch): void {
    const afterMs = this.#lateAfterMs(launch.label);
    this.#watch(launch, afterMs ?? LATE_UNKNOWN_MS, afterMs !== undefined);
  }

  attemptFailed(launch: Launch): void {
    const attempt = this.#launches.get(launch);
    attempt?.cancel();
    if (attempt?.isLate === false) this.#slow.launchEnded(launch);
  }

  /**
   * A launch that is in progress has ended.
   * @returns whether it was not late, and whether the provider has stopped being slow
   */
  launchEnded(launch: Launch, isReady: boolean): { readonly wasInTime: boolean; readonly isFaster: boolean } {
    const { label } = launch;
    const { beganMs, isLate = false } = this.#launches.get(launch) ?? {};
    const nowMs = steadyNow(this.#context.clock);
    const tookMs = nowMs - (beganMs ?? nowMs);
    const lateAfterMs = this.#lateAfterMs(label);
    const isGood = isReady && !isLate && tookMs < (lateAfterMs ?? Infinity);
    if (isGood && this.#launches.size * 2 >= this.#limit) this.#limit++;
    if (isReady) this.#timeOf(label).note(tookMs, nowMs);
    this.attemptFailed(launch);
    this.#launches.delete(launch);
    return { wasInTime: !isLate, isFaster: isGood && lateAfterMs !== undefined && this.#slow.succeeded() };
  }

  /** Cancels all timers. */
  close(): void {
    for (const { cancel } of this.#launches.values()) cancel();
  }

  /** @param shows - whether the launch is a sign of a slow provider when it is late */
  #watch(launch: Launch, afterMs: number, shows: boolean): void {
    const { clock } = this.#context;
    this.#launches.get(launch)?.cancel();
    const cancel = clock.setTimer(afterMs, () => this.#late(launch, afterMs, shows));
    this.#launches.set(launch, { beganMs: steadyNow(clock), cancel, isLate: false });
  }

  #late(launch: Launch, afterMs: number, shows: boolean): void {
    const { clock, zk } = this.#context;
    const attempt = this.#launches.get(launch);
    if (attempt) attempt.isLate = true;
    // without ZooKeeper it may be ready already
    const isSign = shows && zk.state === 'CONNECTED';
    const text = `launches of "${launch.label}" take longer than ${Math.round(afterMs / 1_000)} s`;
    const isChanged = isSign && this.#slow.failed(text, clock.now());
    if (!this.#slow.isHealthy) this.#limit = LAUNCHES_AT_ONCE;
    this.#whenLate(launch, isChanged);
  }

  #lateAfterMs(label: string): number | undefined {
    const usualMs = this.#usual.get(label)?.ms;
    return usualMs === undefined ? undefined : Math.max(usualMs * LATE_FACTOR, usualMs + LATE_MS);
  }

  #timeOf(label: string): UsualTime {
    let time = this.#usual.get(label);
    if (!time) this.#usual.set(label, (time = new UsualTime()));
    return time;
  }
}
