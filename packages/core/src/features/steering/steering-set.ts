import type { Config } from '../../contract/config.js';
import type { Steering, SteeringReport } from '../../launcher/plan/steering.js';
import type { Context } from '../../launcher/state/context.js';
import type { Launch } from '../../launcher/state/events.js';
import { ProviderSteering, type SteeringContext } from './provider-steering.js';

/** How long a zone that launches do not try any more is shown as one without capacity. */
const ZONE_STAYS_MS = 3_600_000;

/** Whether steering is on for a provider: requests avoid it while it fails. */
export function isSteered(config: Config, provider: string): boolean {
  const own = config.providers.get(provider)?.entry['steering'];
  return typeof own === 'boolean' ? own : (config.steering ?? true);
}

/** The health of each provider, derived from launch events. */
export class SteeringSet implements Steering {
  readonly #context: SteeringContext & Pick<Context, 'config'>;
  readonly #providers = new Map<string, ProviderSteering>();
  readonly #ends: readonly (() => void)[];

  constructor(context: SteeringContext & Pick<Context, 'config'>) {
    this.#context = context;
    const { events } = context;
    this.#ends = [
      // a launch that another launcher began shows neither how long one takes nor how many are possible
      events.on('launchBegun', ({ launch }) => launch.node ?? this.of(launch.provider)?.launchBegun(launch)),
      events.on('launchProgressed', ({ launch, step }) => {
        const steering = this.#begunBy(launch);
        if (step.what === 'placed') steering?.launchPlaced(launch, step.zone);
        else if (step.what === 'created') steering?.instanceCreated(launch);
        else if (step.what === 'failed') steering?.attemptFailed(launch, step.error);
      }),
      events.on('launchEnded', ({ launch, state }) => this.#begunBy(launch)?.launchEnded(launch, state)),
    ];
  }

  of(provider: string): ProviderSteering | undefined {
    if (!isSteered(this.#context.config.now, provider)) return undefined;
    let steering = this.#providers.get(provider);
    if (!steering) this.#providers.set(provider, (steering = new ProviderSteering(provider, this.#context)));
    return steering;
  }

  /** Without labels and zones that are not used any more. */
  reports(): { provider: string; report: SteeringReport }[] {
    return [...this.#providers]
      .filter(([provider]) => this.#context.config.now.providers.has(provider) && this.of(provider))
      .map(([provider, steering]) => ({ provider, report: this.#inUse(provider, steering.report()) }))
      .filter(({ report: { provider, speed, labels, doubted, zones } }) => {
        const isWell = provider.state === 'healthy' && speed.state === 'healthy';
        return !isWell || labels.length + doubted.length + zones.length > 0;
      });
  }

  /** A label may have left the configuration. A zone may have as well, so one counts for an hour after its last failure. */
  #inUse(provider: string, report: SteeringReport): SteeringReport {
    const { clock, config } = this.#context;
    const pools = [...(config.now.providers.get(provider)?.pools.values() ?? [])];
    const isConfigured = ({ label }: { label: string }) => pools.some(({ labels }) => labels.has(label));
    const oldestMs = clock.now() - ZONE_STAYS_MS;
    const zones = report.zones.filter((zone) => isConfigured(zone) && (zone.health.failedMs ?? 0) >= oldestMs);
    const [labels, doubted] = [report.labels.filter(isConfigured), report.doubted.filter(isConfigured)];
    return { ...report, zones, labels, doubted };
  }

  stop(): void {
    for (const end of this.#ends) end();
    for (const steering of this.#providers.values()) steering.close();
  }

  /** Also while steering is off, as it may have been on when the launch started. */
  #begunBy({ provider }: Launch): ProviderSteering | undefined {
    return this.#providers.get(provider);
  }
}
