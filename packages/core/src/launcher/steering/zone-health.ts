import { Health, type HealthLimits, type HealthReport } from './health.js';

/** How a zone does for one label. */
export interface ZoneReport {
  readonly zone: string;
  readonly label: string;
  readonly health: HealthReport;
}

/** Where a provider had no capacity: by zone, and by label, which stands for a resource type. */
export class ZoneHealth {
  readonly #limits: HealthLimits;
  readonly #known = new Map<string, { readonly zone: string; readonly label: string; readonly health: Health }>();

  constructor(limits: HealthLimits) {
    this.#limits = limits;
  }

  /** Whether nodes of the label are better made in another zone. */
  avoids(zone: string, label: string, nowMs: number): boolean {
    return !(this.#known.get(keyOf(zone, label))?.health.mayLaunch(nowMs) ?? true);
  }

  /** A launch begins there. */
  began(zone: string, label: string, launch: object): void {
    this.#known.get(keyOf(zone, label))?.health.began(launch);
  }

  hadNoCapacity(zone: string, label: string, error: string, nowMs: number): void {
    const key = keyOf(zone, label);
    let entry = this.#known.get(key);
    if (!entry) this.#known.set(key, (entry = { zone, label, health: new Health(this.#limits) }));
    entry.health.failed(error, nowMs);
  }

  succeeded(zone: string, label: string): void {
    this.#known.delete(keyOf(zone, label));
  }

  /** A launch has ended there and says nothing of the zone. */
  endedOtherwise(zone: string, label: string, launch: object): void {
    this.#known.get(keyOf(zone, label))?.health.endedOtherwise(launch);
  }

  /** Those that are avoided, or tried again. */
  reports(nowMs: number): ZoneReport[] {
    return [...this.#known.values()]
      .map(({ zone, label, health }) => ({ zone, label, health: health.report(nowMs) }))
      .filter(({ health }) => health.state !== 'closed');
  }
}

function keyOf(zone: string, label: string): string {
  return `${zone}\0${label}`;
}
