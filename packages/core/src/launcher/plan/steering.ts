import type { ErrorReason } from '../../conditions/error-reason.js';

/**
 * - `healthy` launches work
 * - `failing` no launch starts before `nextProbeMs`
 * - `probing` one launch, in progress or due, shows whether launches work again
 */
export type HealthState = 'healthy' | 'failing' | 'probing';

/** The health of a provider, label or zone, as data for explain, `/healthz` and metrics. */
export interface HealthReport {
  readonly state: HealthState;
  /** Number of failures since the last success. */
  readonly failures: number;
  /** Message of the last failure since the last success; `undefined` if there was none. */
  readonly error: string | undefined;
  /** Class of that error. */
  readonly reason: ErrorReason | undefined;
  /** Time of that failure, ms since the epoch. */
  readonly failedMs: number | undefined;
  /** Start of the current state other than `healthy`, ms since the epoch. */
  readonly sinceMs: number | undefined;
  /** The earliest time of the next probe, ms since the epoch; `undefined` unless `failing`. */
  readonly nextProbeMs: number | undefined;
}

/** A label and its launches. */
export interface LabelHealth {
  readonly label: string;
  readonly health: HealthReport;
  /** No launch has been ready since the launcher started. Default: one has been, or it is not known. */
  readonly neverReady?: boolean;
}

/** The health of a zone for one label. */
export interface ZoneReport extends LabelHealth {
  readonly zone: string;
}

/** Health and speed of a provider, as data. */
export interface SteeringReport {
  readonly provider: HealthReport;
  /** Whether launches fail, or other calls to the API. */
  readonly failing: 'launches' | 'calls';
  /** `healthy` unless launches take much longer than usual. */
  readonly speed: HealthReport;
  /** Labels whose launches fail although the provider works, e.g. for lack of capacity. */
  readonly labels: readonly LabelHealth[];
  /** Further labels whose last attempts failed, while nothing is held back yet. */
  readonly doubted: readonly LabelHealth[];
  /** Zones without capacity for a label. */
  readonly zones: readonly ZoneReport[];
}

/** The health of a provider, as the plan needs it. */
export interface SteeringView {
  /** Whether launches and API calls of the provider work. */
  readonly isWell: boolean;
  /** Whether launches take much longer than usual: pools of other providers get requests first. False for one of them now and then. */
  readonly isSlow: boolean;
  /** The limit on concurrent launches. */
  readonly launchLimit: number;
  /** Whether launches of the label fail for lack of capacity. */
  isFailing(label: string): boolean;
  /** Whether nodes of these labels may be launched now: the provider is healthy, or a probe is due. */
  mayLaunch(labels: readonly string[]): boolean;
  /** Whether a launch of these labels is due as a probe of something that fails or is slow. */
  isProbeDue(labels: readonly string[]): boolean;
  /** Whether a launch in progress will soon show if the label, or the provider if that fails, works again. */
  isProbed(label: string): boolean;
  /** Orders labels by how much a launch of them as a probe would notify, the best first. */
  compareProbes(a: string, b: string): number;
  /** Whether to launch nodes of the label in another zone. */
  avoidsZone(zone: string, label: string): boolean;
  /** A call that lists machines has ended. @param error - `undefined` if it succeeded */
  apiAnswered(error: Error | undefined): void;
  report(): SteeringReport;
}

/** What launches have shown of the providers. */
export interface Steering {
  /** @returns `undefined` if the provider counts like any other, whatever its launches show */
  of(provider: string): SteeringView | undefined;
  /** The health of the configured providers that are not healthy. */
  reports(): readonly { readonly provider: string; readonly report: SteeringReport }[];
}

/** Steering by the feature that does it; without one, all providers count alike. */
export class Steered implements Steering {
  by: Steering | undefined;

  of(provider: string): SteeringView | undefined {
    return this.by?.of(provider);
  }

  reports(): ReturnType<Steering['reports']> {
    return this.by?.reports() ?? [];
  }

  /** Names of providers whose launches fail. */
  failingProviders(): string[] {
    return this.reports()
      .filter(({ report }) => report.provider.state !== 'healthy')
      .map(({ provider }) => provider);
  }
}
