import type { ZoneReport } from '../../launcher/plan/steering.js';
import type { Launch } from '../../launcher/state/events.js';
import { Health, type HealthLimits } from './health.js';

/** Zones without capacity, for each label, which stands for a resource type. */
export class ZoneHealth {
  readonly #limits: HealthLimits;
  readonly #known = new Map<string, { readonly zone: string; readonly label: string; readonly health: Health }>();
  /** Zones of launches in progress. */
  readonly #zones = new Map<Launch, string>();

  constructor(limits: HealthLimits) {
    this.#limits = limits;
  }

  /** Whether to launch nodes of the label in another zone. */
  avoids(zone: string, label: string, nowMs: number): boolean {
    return !(this.#known.get(keyOf(zone, label))?.health.mayLaunch(nowMs) ?? true);
  }

  launchPlaced(launch: Launch, zone: string): void {
    this.#zones.set(launch, zone);
    this.#known.get(keyOf(zone, launch.label))?.health.launchBegun(launch);
  }

  /** An attempt has failed for lack of capacity. */
  attemptFailed(launch: Launch, error: Error, nowMs: number): void {
    const zone = this.#zones.get(launch);
    if (zone === undefined) return;
    const { label } = launch;
    this.#healthOf(zone, label).failed(error.message, nowMs);
  }

  launchEnded(launch: Launch, isReady: boolean): void {
    const zone = this.#zones.get(launch);
    if (zone === undefined) return;
    this.#zones.delete(launch);
    const key = keyOf(zone, launch.label);
    if (isReady) this.#known.delete(key);
    else this.#known.get(key)?.health.launchEnded(launch);
  }

  /** Zones that are avoided or probed. */
  reports(nowMs: number): ZoneReport[] {
    return [...this.#known.values()]
      .map(({ zone, label, health }) => ({ zone, label, health: health.report(nowMs) }))
      .filter(({ health }) => health.state !== 'healthy');
  }

  #healthOf(zone: string, label: string): Health {
    const key = keyOf(zone, label);
    let entry = this.#known.get(key);
    if (!entry) this.#known.set(key, (entry = { zone, label, health: new Health(this.#limits) }));
    return entry.health;
  }
}

function keyOf(zone: string, label: string): string {
  return `${zone}\0${label}`;
}
