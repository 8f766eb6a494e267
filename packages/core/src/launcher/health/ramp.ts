import type { Clock } from '@nodepool/zk-protocol';
import type { Launch } from '../events.js';
import { BootTimes } from './boot-times.js';

/** How many launches may be under way at once, as data. */
export interface RampReport {
  /** Whole launches. */
  readonly limit: number;
  /** Why it was last lowered, for people; `undefined` when it never was, or that is an hour ago. */
  readonly why: string | undefined;
}

interface UnderWay {
  /** The round in which it was begun. */
  readonly round: number;
  createdMs: number;
}

/** Numbers of a {@link Ramp}; docs/steering.md names them. */
export const RAMP = {
  /** Launches at once of a provider that nothing is known of. */
  start: 100,
  /** It never falls below. */
  least: 5,
  /** What is left of the limit after a sign that it is too much. */
  shrink: 0.7,
  /** The first rise after that, per round of launches, as a part of the limit; each good round doubles it. */
  firstStep: 0.05,
  /** A launch is late beyond so many times what is usual... */
  lateFactor: 1.5,
  /** ... and by this much at the least: below it, other things than the cloud take their time. */
  lateMs: 5_000,
  /** So many late ones among the last {@link RAMP.looked} are a sign. */
  lateOnes: 5,
  looked: 8,
  /** The rate of failures is one when it is so much above its own average. */
  failureRise: 0.3,
  /** Without a sign for this long, the limit is at least what it was at first. */
  forgetMs: 3_600_000,
} as const;

const FAST = 1 / 8;
const SLOW = 1 / 200;

/**
 * How many launches of one provider may be under way at once. The limit rises while launches take what is usual for their
 * label, and falls by a part when they take longer, or when more of them fail (additive increase, multiplicative decrease).
 * Of the launches of one round, those begun at the same limit, one sign counts.
 */
export class Ramp {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #launches = new Map<Launch, UnderWay>();
  readonly #usual = new Map<string, BootTimes>();
  #limit: number = RAMP.start;
  /** By how much the limit rises with each round. */
  #step: number = RAMP.start;
  /** The limit when the step was last raised; after so many launches in time it is raised again. */
  #base: number = RAMP.start;
  /** Launches in time since then. */
  #inTime = 0;
  /** Grows each time the limit falls; launches of an earlier round say nothing about the new limit. */
  #round = 0;
  /** The most that were under way since then. */
  #most = 0;
  #late: boolean[] = [];
  /** Rates of failures, of the last few and of many launches. */
  #failing = { fast: 0, slow: 0 };
  #loweredMs = -Infinity;
  #why: string | undefined;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** Launches that may be under way at once. */
  get limit(): number {
    return Math.floor(this.#isForgotten ? Math.max(this.#limit, RAMP.start) : this.#limit);
  }

  launchBegun(launch: Launch): void {
    this.#recall();
    this.#launches.set(launch, { round: this.#round, createdMs: this.#clock.now() });
    this.#most = Math.max(this.#most, this.#launches.size);
  }

  /** From here the time of this attempt counts. */
  instanceCreated(launch: Launch): void {
    const underWay = this.#launches.get(launch);
    if (underWay) underWay.createdMs = this.#clock.now();
  }

  /** For a reason of the cloud's. */
  attemptFailed(launch: Launch): void {
    if (this.#launches.get(launch)?.round !== this.#round) return;
    this.#countFailure(1);
    const { fast, slow } = this.#failing;
    if (fast > slow + RAMP.failureRise) this.#fall(`${Math.round(fast * 100)} % of the last launches failed`);
  }

  /**
   * @param isReady - and there is a node; otherwise it says nothing
   * @param isUsual - the time it took counts for what is usual. Default true
   */
  launchEnded(launch: Launch, isReady: boolean, isUsual = true): void {
    const underWay = this.#launches.get(launch);
    if (!underWay) return;
    const nowMs = this.#clock.now();
    const tookMs = nowMs - underWay.createdMs;
    if (isReady && underWay.round === this.#round) this.#ready(launch.label, tookMs);
    if (isReady && isUsual) this.#timesOf(launch.label).note(tookMs, nowMs);
    this.#launches.delete(launch);
  }

  /** How long a launch of the label may take before it is late; `undefined` while nothing is known of others. */
  lateAfterMs(label: string): number | undefined {
    const usualMs = this.#usual.get(label)?.usualMs;
    return usualMs === undefined ? undefined : lateAfter(usualMs);
  }

  report(): RampReport {
    return { limit: this.limit, why: this.#isForgotten ? undefined : this.#why };
  }

  get #isForgotten(): boolean {
    return this.#clock.now() - this.#loweredMs >= RAMP.forgetMs;
  }

  #recall(): void {
    if (this.#why === undefined || !this.#isForgotten) return;
    this.#why = undefined;
    this.#limit = Math.max(this.#limit, RAMP.start);
    this.#setStep(this.#limit);
  }

  #ready(label: string, tookMs: number): void {
    const usualMs = this.#usual.get(label)?.usualMs;
    this.#countFailure(0);
    const isLate = usualMs !== undefined && tookMs > lateAfter(usualMs);
    this.#late = [...this.#late, isLate].slice(-RAMP.looked);
    if (!isLate) this.#rise();
    else if (this.#late.filter(Boolean).length >= RAMP.lateOnes) {
      this.#fall(`launches of "${label}" took ${seconds(tookMs)} instead of ${seconds(usualMs)}`);
    }
  }

  #timesOf(label: string): BootTimes {
    let times = this.#usual.get(label);
    if (!times) this.#usual.set(label, (times = new BootTimes()));
    return times;
  }

  #countFailure(value: 0 | 1): void {
    const { fast, slow } = this.#failing;
    this.#failing = { fast: fast + (value - fast) * FAST, slow: slow + (value - slow) * SLOW };
  }

  /** A limit that is not made use of has not shown that more would do. */
  #rise(): void {
    if (this.#most * 2 < this.#limit) return;
    this.#limit += this.#step / this.#base;
    if (++this.#inTime >= this.#base) this.#setStep(Math.min(this.#step * 2, this.#limit));
  }

  #setStep(step: number): void {
    this.#step = step;
    this.#base = this.#limit;
    this.#inTime = 0;
    this.#most = this.#launches.size;
  }

  #fall(why: string): void {
    this.#limit = Math.max(RAMP.least, Math.floor(Math.min(this.#limit, this.#most) * RAMP.shrink));
    this.#setStep(Math.max(1, this.#limit * RAMP.firstStep));
    this.#round++;
    this.#late = [];
    this.#failing.fast = this.#failing.slow;
    this.#loweredMs = this.#clock.now();
    this.#why = why;
  }
}

function lateAfter(usualMs: number): number {
  return Math.max(usualMs * RAMP.lateFactor, usualMs + RAMP.lateMs);
}

function seconds(ms = 0): string {
  return `${Math.round(ms / 1_000)} s`;
}
