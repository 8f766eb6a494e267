import { DEFAULT_HEALTH_LIMITS, Health, type HealthLimits, type HealthReport } from './health.js';
import { failureKindOf } from './failure.js';
import { Lateness, type Later } from './lateness.js';
import { Ramp, type RampReport } from './ramp.js';
import { ZoneHealth, type ZoneReport } from './zone-health.js';

/** How a provider does, as data. */
export interface SteeringReport {
  readonly provider: HealthReport;
  /** What of the provider fails, if anything: launches, or other calls to its API. */
  readonly failing: 'launches' | 'calls';
  /** Not `closed` while launches take much longer than usual. */
  readonly speed: HealthReport;
  /** Labels for which the provider had no capacity, as far as they are not well again. */
  readonly labels: readonly { readonly label: string; readonly health: HealthReport }[];
  /** Zones without capacity for a label. */
  readonly zones: readonly ZoneReport[];
  /** How many launches may be under way at once. */
  readonly ramp: RampReport;
}

/** What launches have shown of a provider, as the plan asks for it. */
export interface SteeringView {
  /** Nothing is known against the provider itself. */
  readonly isWell: boolean;
  /** Launches take much longer than usual, and it is not time for a probe: who else has the capacity is asked first. */
  readonly isSlow: boolean;
  /** Launches of the label fail for its own sake, for lack of capacity. */
  isFailing(label: string): boolean;
  /** Whether nodes of these labels may be launched now: all is well, or it is time for a probe. */
  mayLaunch(labels: readonly string[]): boolean;
  /** Something fails or is slow, and it is time to find out with nodes of these labels whether it still does. */
  isProbeDue(labels: readonly string[]): boolean;
  report(): SteeringReport;
}

/** What is kept of a launch while it is under way. */
export interface SteeredLaunch {
  readonly label: string;
  /** The zone of its node is known; `null`: the cloud chooses. */
  placed(zone: string | null): void;
  /** The cloud has begun to make the instance: from here its time until it is ready counts. */
  created(): void;
  /** An attempt failed. @returns what that says about the provider */
  attemptFailed(error: Error): ReturnType<typeof failureKindOf>;
  /** The launch is over. Later calls do nothing. */
  ended(isReady: boolean): void;
}

/** What a {@link ProviderSteering} needs. */
export interface ProviderSteeringOptions {
  readonly now: () => number;
  readonly later: Later;
  /** Called when the provider or a label has another state, or is to be probed at another time. */
  readonly changed: () => void;
  /** Called when a launch has ended or is late while something fails: nothing may be under way that would tell. */
  readonly settled?: () => void;
  readonly limits?: HealthLimits;
}

/**
 * What the launches of one provider have shown: the health of the provider, and of each label, which stands for a resource
 * type. Lack of capacity counts for the label alone. Outlives a reload.
 */
export class ProviderSteering implements SteeringView {
  readonly #limits: HealthLimits;
  readonly #now: () => number;
  readonly #changed: () => void;
  readonly #settled: () => void;
  /** Launches under way that are not late, with their labels. */
  readonly #inTime = new Map<object, string>();
  readonly #provider: Health;
  /** Of calls outside launches. */
  readonly #api: Health;
  readonly #labels = new Map<string, Health>();
  readonly #zones: ZoneHealth;
  readonly #ramp: Ramp;
  readonly #lateness: Lateness;

  constructor({
    now,
    later,
    changed,
    settled = () => undefined,
    limits = DEFAULT_HEALTH_LIMITS,
  }: ProviderSteeringOptions) {
    this.#now = now;
    this.#changed = changed;
    this.#settled = settled;
    this.#limits = limits;
    this.#provider = new Health(limits);
    this.#api = new Health(limits);
    this.#zones = new ZoneHealth(limits);
    this.#ramp = new Ramp(now);
    this.#lateness = new Lateness({
      ...{ now, later, limits, changed },
      lateAfterMs: (label) => this.#ramp.lateAfterMs(label),
      overdue: (label) => this.#overdue(label),
    });
  }

  /** How many launches may be under way at once, as far as those before have shown. */
  get launchLimit(): number {
    return this.#ramp.limit;
  }

  /** Whether nodes of the label are better made in another zone. */
  avoidsZone(zone: string, label: string): boolean {
    return this.#zones.avoids(zone, label, this.#now());
  }

  /** Nothing is known against the provider itself. */
  get isWell(): boolean {
    return this.#provider.isClosed && this.#api.isClosed;
  }

  get isSlow(): boolean {
    return this.#lateness.isSlow;
  }

  /** Launches of the label fail for its own sake, for lack of capacity. */
  isFailing(label: string): boolean {
    return !(this.#labels.get(label)?.isClosed ?? true);
  }

  /** A call for the list of machines has ended. @param error - with which it failed */
  apiAnswered(error: Error | undefined): void {
    if (error && failureKindOf(error) !== 'cloud') return;
    if (error ? this.#api.failed(error, this.#now()) : this.#api.succeeded()) this.#changed();
  }

  /** Whether nodes of these labels may be launched now: all is well, or it is time for a probe. */
  mayLaunch(labels: readonly string[]): boolean {
    const now = this.#now();
    const isDue = this.#provider.mayLaunch(now) && this.#api.mayLaunch(now);
    return isDue && labels.every((label) => this.#labels.get(label)?.mayLaunch(now) ?? true);
  }

  /** Something fails or is slow, and it is time to find out with nodes of these labels whether it still does. */
  isProbeDue(labels: readonly string[]): boolean {
    const isWell = this.isWell && this.#lateness.isOver && !labels.some((label) => this.isFailing(label));
    return !isWell && !this.isSlow && this.mayLaunch(labels);
  }

  /** A launch is under way that tells soon whether the label, or the provider if that fails, works again. */
  isTold(label: string): boolean {
    for (const each of this.#inTime.values()) if (!this.isWell || each === label) return true;
    return false;
  }

  /** When it is next time for a probe of something that fails; `undefined`: nothing fails, or it is time already. */
  get nextProbeMs(): number | undefined {
    const now = this.#now();
    const reports = [this.#provider, this.#api, ...this.#labels.values()].map((health) => health.report(now));
    const times = [...reports, this.#lateness.report()].flatMap(({ nextProbeMs }) => nextProbeMs ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** A launch begins. */
  begin(label: string): SteeredLaunch {
    const launch = {};
    for (const health of [this.#provider, this.#api, this.#labels.get(label)]) health?.began(launch);
    const ramped = this.#ramp.begin(label);
    const watched = this.#lateness.watch(label, () => this.#tellsNoMore(launch));
    this.#inTime.set(launch, label);
    let zone: string | null = null;
    let hasFailed = false;
    let isOver = false;
    return {
      label,
      placed: (chosen) => {
        zone = chosen;
        if (zone !== null) this.#zones.began(zone, label, launch);
      },
      created: () => {
        ramped.created();
        this.#inTime.set(launch, label);
        watched.created();
      },
      attemptFailed: (error) => {
        hasFailed = true;
        watched.ended(false);
        const kind = this.#attemptFailed(label, error, launch);
        if (kind === 'cloud') ramped.failed();
        if (kind === 'capacity' && zone !== null) this.#zones.hadNoCapacity(zone, label, error.message, this.#now());
        return kind;
      },
      ended: (isReady) => {
        if (isOver) return;
        isOver = true;
        ramped.ended(isReady, watched.ended(isReady));
        if (zone !== null && isReady) this.#zones.succeeded(zone, label);
        else if (zone !== null) this.#zones.endedOtherwise(zone, label, launch);
        if (isReady) this.#succeeded(label);
        else if (!hasFailed) this.#endedOtherwise(label, launch);
        this.#tellsNoMore(launch);
      },
    };
  }

  report(): SteeringReport {
    const now = this.#now();
    const labels = [...this.#labels].map(([label, health]) => ({ label, health: health.report(now) }));
    const failing = labels.filter(({ health }) => health.state !== 'closed');
    const isApi = this.#provider.isClosed && !this.#api.isClosed;
    const provider = (isApi ? this.#api : this.#provider).report(now);
    return {
      provider,
      failing: isApi ? 'calls' : 'launches',
      speed: this.#lateness.report(),
      labels: failing,
      zones: this.#zones.reports(now),
      ramp: this.#ramp.report(),
    };
  }

  #attemptFailed(label: string, error: Error, launch: object): ReturnType<typeof failureKindOf> {
    const kind = failureKindOf(error);
    const failing = kind === 'capacity' ? this.#healthOf(label) : kind === 'cloud' ? this.#provider : undefined;
    this.#endedOtherwise(label, launch, failing);
    if (failing?.failed(error, this.#now())) this.#changed();
    return kind;
  }

  #tellsNoMore(launch: object): void {
    const wasInTime = this.#inTime.delete(launch);
    if (wasInTime && !(this.isWell && this.#labels.size === 0)) this.#settled();
  }

  /** A probe that takes longer than a launch that goes well tells enough; it may still succeed. */
  #overdue(label: string): void {
    const all = [this.#provider, this.#api, ...(this.#labels.has(label) ? [this.#healthOf(label)] : [])];
    if (all.map((health) => health.overdue(this.#now())).includes(true)) this.#changed();
  }

  #succeeded(label: string): void {
    const changes = [this.#provider.succeeded(), this.#api.succeeded(), this.#labels.get(label)?.succeeded() ?? false];
    this.#labels.delete(label);
    if (changes.includes(true)) this.#changed();
  }

  /** @param except - of which the launch does say something */
  #endedOtherwise(label: string, launch: object, except?: Health): void {
    for (const health of [this.#provider, this.#api, this.#labels.get(label)]) {
      if (health !== except) health?.endedOtherwise(launch);
    }
  }

  #healthOf(label: string): Health {
    let health = this.#labels.get(label);
    if (!health) this.#labels.set(label, (health = new Health(this.#limits)));
    return health;
  }
}
