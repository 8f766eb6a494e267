import { DEFAULT_HEALTH_LIMITS, Health, type HealthLimits, type HealthReport } from './health.js';
import { failureKindOf } from './failure.js';
import { Ramp, type RampReport } from './ramp.js';

/** How a provider does, as data. */
export interface SteeringReport {
  readonly provider: HealthReport;
  /** Labels for which the provider had no capacity, as far as they are not well again. */
  readonly labels: readonly { readonly label: string; readonly health: HealthReport }[];
  /** How many launches may be under way at once. */
  readonly ramp: RampReport;
}

/** What is kept of a launch while it is under way. */
export interface SteeredLaunch {
  readonly label: string;
  /** The cloud has begun to make the instance: from here its time until it is ready counts. */
  created(): void;
  /** An attempt failed. @returns what that says about the provider */
  attemptFailed(error: Error): ReturnType<typeof failureKindOf>;
  /** The launch is over. Later calls do nothing. */
  ended(isReady: boolean): void;
}

/**
 * What the launches of one provider have shown: the health of the provider, and of each label, which stands for a resource
 * type. Lack of capacity counts for the label alone. Outlives a reload.
 */
export class ProviderSteering {
  readonly #limits: HealthLimits;
  readonly #now: () => number;
  readonly #changed: () => void;
  readonly #provider: Health;
  readonly #labels = new Map<string, Health>();
  readonly #ramp: Ramp;

  /** @param changed - called when the provider or a label has another state */
  constructor(now: () => number, changed: () => void, limits: HealthLimits = DEFAULT_HEALTH_LIMITS) {
    this.#now = now;
    this.#changed = changed;
    this.#limits = limits;
    this.#provider = new Health(limits);
    this.#ramp = new Ramp(now);
  }

  /** How many launches may be under way at once, as far as those before have shown. */
  get launchLimit(): number {
    return this.#ramp.limit;
  }

  /** Nothing is known against the provider itself. */
  get isWell(): boolean {
    return this.#provider.isClosed;
  }

  /** Whether nodes of these labels may be launched now: all is well, or it is time for a probe. */
  mayLaunch(labels: readonly string[]): boolean {
    const now = this.#now();
    return this.#provider.mayLaunch(now) && labels.every((label) => this.#labels.get(label)?.mayLaunch(now) ?? true);
  }

  /** When it is time for the next probe of what keeps these labels from being launched; `undefined`: one is under way. */
  nextProbeMs(labels: readonly string[]): number | undefined {
    const now = this.#now();
    const reports = [this.#provider, ...labels.flatMap((label) => this.#labels.get(label) ?? [])].map((health) =>
      health.report(now),
    );
    const times = reports.flatMap(({ nextProbeMs }) => nextProbeMs ?? []);
    return times.length === 0 ? undefined : Math.max(...times);
  }

  /** A launch begins. */
  begin(label: string): SteeredLaunch {
    this.#provider.began();
    this.#labels.get(label)?.began();
    const ramped = this.#ramp.begin(label);
    let hasFailed = false;
    let isOver = false;
    return {
      label,
      created: () => ramped.created(),
      attemptFailed: (error) => {
        hasFailed = true;
        const kind = this.#attemptFailed(label, error);
        if (kind === 'cloud') ramped.failed();
        return kind;
      },
      ended: (isReady) => {
        if (isOver) return;
        isOver = true;
        ramped.ended(isReady);
        if (isReady) this.#succeeded(label);
        else if (!hasFailed) this.#endedOtherwise(label);
      },
    };
  }

  report(): SteeringReport {
    const now = this.#now();
    const labels = [...this.#labels].map(([label, health]) => ({ label, health: health.report(now) }));
    const failing = labels.filter(({ health }) => health.state !== 'closed');
    return { provider: this.#provider.report(now), labels: failing, ramp: this.#ramp.report() };
  }

  #attemptFailed(label: string, error: Error): ReturnType<typeof failureKindOf> {
    const kind = failureKindOf(error);
    if (kind === 'own') {
      this.#endedOtherwise(label);
      return kind;
    }
    const health = kind === 'cloud' ? this.#provider : this.#healthOf(label);
    if (health.failed(error.message, this.#now())) this.#changed();
    if (kind === 'capacity') this.#provider.endedOtherwise();
    return kind;
  }

  #succeeded(label: string): void {
    const changes = [this.#provider.succeeded(), this.#labels.get(label)?.succeeded() ?? false];
    this.#labels.delete(label);
    if (changes.includes(true)) this.#changed();
  }

  #endedOtherwise(label: string): void {
    this.#provider.endedOtherwise();
    this.#labels.get(label)?.endedOtherwise();
  }

  #healthOf(label: string): Health {
    let health = this.#labels.get(label);
    if (!health) this.#labels.set(label, (health = new Health(this.#limits)));
    return health;
  }
}
