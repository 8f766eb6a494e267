import type { Clock } from '@nodepool/zk-protocol';
import type { Launch } from '../state/events.js';

/** The limit on concurrent launches, as data. */
export interface RampReport {
  /** A whole number. */
  readonly limit: number;
  /** Why it was last lowered, for people; `undefined` if that was never or an hour ago. */
  readonly why: string | undefined;
}

/** What a launcher tells its successors of the limit. */
export interface RampMemory extends RampReport {
  /** When it was last lowered; `undefined` if that was never or an hour ago. */
  readonly loweredMs: number | undefined;
  /** The usual time of each label from creation until ready, in ms. */
  readonly usualMs: Readonly<Record<string, number>>;
}

interface LaunchInProgress {
  /** The round in which it started. */
  readonly round: number;
  createdMs: number;
}

/** Numbers of a {@link Ramp}; docs/steering-rules.md explains them. */
export const RAMP = {
  /** The initial limit. */
  start: 100,
  /** The lowest limit. */
  least: 5,
  /** The factor by which overload lowers the limit. */
  shrink: 0.7,
  /** The first rise after that, per round of launches, as a part of the limit; each round in time doubles it. */
  firstStep: 0.05,
  /** A launch is late if it takes longer than the usual time multiplied by this... */
  lateFactor: 1.5,
  /** ... and longer than the usual time plus this: smaller delays may have other causes than the cloud. */
  lateMs: 5_000,
  /** So many late launches among the last {@link RAMP.looked} show overload. */
  lateOnes: 5,
  looked: 8,
  /** A failure rate that exceeds its own average by this shows overload. */
  failureRise: 0.3,
  /** After this time without overload, the limit is at least the initial one. */
  forgetMs: 3_600_000,
} as const;

const FAST = 1 / 8;
const SLOW = 1 / 200;

/**
 * Limits the concurrent launches of one provider by additive increase and multiplicative decrease: the limit rises while
 * launches take the usual time of their label, and falls when they take longer or more of them fail. Launches that started at
 * the same limit form a round, and lower the limit at most once.
 */
export class Ramp {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #launches = new Map<Launch, LaunchInProgress>();
  readonly #usual = new Map<string, BootTimes>();
  #limit: number = RAMP.start;
  /** The rise of the limit per round. */
  #step: number = RAMP.start;
  /** The limit when the step last changed; after so many launches in time the step is raised. */
  #base: number = RAMP.start;
  /** Number of launches in time since then. */
  #inTime = 0;
  /** Increases each time the limit falls; launches of an earlier round do not affect the new limit. */
  #round = 0;
  /** The highest number of concurrent launches since then. */
  #most = 0;
  #late: boolean[] = [];
  /** Moving averages of the failure rate, over few and over many launches. */
  #failing = { fast: 0, slow: 0 };
  #loweredMs = -Infinity;
  #why: string | undefined;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** The limit on concurrent launches. */
  get limit(): number {
    return Math.floor(this.#isForgotten ? Math.max(this.#limit, RAMP.start) : this.#limit);
  }

  launchBegun(launch: Launch): void {
    this.#recall();
    this.#launches.set(launch, { round: this.#round, createdMs: this.#clock.now() });
    this.#most = Math.max(this.#most, this.#launches.size);
  }

  /** Starts to measure an attempt. */
  instanceCreated(launch: Launch): void {
    const inProgress = this.#launches.get(launch);
    if (inProgress) inProgress.createdMs = this.#clock.now();
  }

  /** An attempt has failed because of the cloud. */
  attemptFailed(launch: Launch): void {
    if (this.#launches.get(launch)?.round !== this.#round) return;
    this.#countFailure(1);
    const { fast, slow } = this.#failing;
    if (fast > slow + RAMP.failureRise) this.#fall(`${Math.round(fast * 100)} % of the last launches failed`);
  }

  /**
   * @param isReady - whether there is a node; otherwise the launch does not count
   * @param isUsual - whether its duration counts as usual. Default true
   */
  launchEnded(launch: Launch, isReady: boolean, isUsual = true): void {
    const inProgress = this.#launches.get(launch);
    if (!inProgress) return;
    const nowMs = this.#clock.now();
    const tookMs = nowMs - inProgress.createdMs;
    if (isReady && inProgress.round === this.#round) this.#ready(launch.label, tookMs);
    if (isReady && isUsual) this.#timesOf(launch.label).note(tookMs, nowMs);
    this.#launches.delete(launch);
  }

  /** The time after which a launch of the label is late; `undefined` while no usual time is known. */
  lateAfterMs(label: string): number | undefined {
    const usualMs = this.#usual.get(label)?.usualMs;
    return usualMs === undefined ? undefined : lateAfter(usualMs);
  }

  report(): RampReport {
    return { limit: this.limit, why: this.#isForgotten ? undefined : this.#why };
  }

  get memory(): RampMemory {
    const usual = [...this.#usual].flatMap(([label, { usualMs }]) => (usualMs === undefined ? [] : [[label, usualMs]]));
    const loweredMs = this.#isForgotten ? undefined : this.#loweredMs;
    return { ...this.report(), loweredMs, usualMs: Object.fromEntries(usual) as Record<string, number> };
  }

  /** Continues where another launcher stopped. */
  recall({ limit, why, loweredMs, usualMs }: RampMemory): void {
    this.#limit = limit;
    this.#why = why;
    this.#loweredMs = loweredMs ?? -Infinity;
    this.#setStep(loweredMs === undefined ? limit : Math.max(1, limit * RAMP.firstStep));
    for (const [label, ms] of Object.entries(usualMs)) this.#timesOf(label).recall(ms);
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

  /** Raises the limit, unless less than half of it was used: then it is not known whether more would work. */
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

/** The number of times recorded per interval: many launches at once must not decide the median within one interval. */
const PER_INTERVAL = 32;
const INTERVAL_MS = 600_000;
/** The number of intervals remembered; a lasting change is the median after half of them. */
const INTERVALS = 12;

/**
 * The usual time of one kind of machine from creation until ready: the median of the medians of intervals. Neither single
 * machines nor many launches at once change it; a new image does within hours. The caller passes the current time.
 */
export class BootTimes {
  readonly #medians: number[] = [];
  #times: number[] = [];
  #beganMs = 0;
  #usualMs: number | undefined;

  /** Records a time. @param tookMs - from creation until ready */
  note(tookMs: number, nowMs: number): void {
    if (this.#times.length > 0 && nowMs - this.#beganMs >= INTERVAL_MS) {
      this.#medians.push(medianOf(this.#times));
      if (this.#medians.length > INTERVALS) this.#medians.shift();
      this.#times = [];
      this.#usualMs = medianOf(this.#medians);
    }
    if (this.#times.length === 0) this.#beganMs = nowMs;
    if (this.#times.length >= PER_INTERVAL) return;
    this.#times.push(tookMs);
    if (this.#medians.length === 0) this.#usualMs = medianOf(this.#times);
  }

  /** Takes over the usual time of another launcher, as that of one interval. */
  recall(usualMs: number): void {
    this.#medians.push(usualMs);
    this.#usualMs = medianOf(this.#medians);
  }

  /** In ms; `undefined` if no time is recorded. */
  get usualMs(): number | undefined {
    return this.#usualMs;
  }
}

/** The lower of the two middle values if their number is even. */
function medianOf(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[(values.length - 1) >>> 1] ?? 0;
}
