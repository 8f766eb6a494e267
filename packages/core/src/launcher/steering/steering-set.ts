import type { CancelTimer, Clock } from '@nodepool/zk-protocol';
import type { Config } from '../../contract/config.js';
import type { Logger } from '../../contract/logger.js';
import type { HealthReport } from './health.js';
import { ProviderSteering, type SteeringReport } from './provider-steering.js';

/** What the steering of all providers needs of the launcher around it. */
export interface SteeringSetPort {
  readonly clock: Clock;
  readonly logger: Logger;
  config(): Config;
  /** A provider or one of its labels fails, is slow, is well again, or it is time for a probe. */
  readonly changed: (provider: string) => void;
  /** A launch of a provider that fails has ended or is late. */
  readonly settled: (provider: string) => void;
}

/** Whether a provider is steered around while it fails. */
export function isSteered(config: Config, provider: string): boolean {
  const own = config.providers.get(provider)?.entry['steering'];
  return typeof own === 'boolean' ? own : (config.steering ?? true);
}

interface SteeredProvider {
  readonly steering: ProviderSteering;
  /** Of the next probe. */
  cancel: CancelTimer | undefined;
}

/** What launches have shown of each provider. */
export class SteeringSet {
  readonly #port: SteeringSetPort;
  readonly #providers = new Map<string, SteeredProvider>();

  constructor(port: SteeringSetPort) {
    this.#port = port;
  }

  /** @returns `undefined` where steering is off */
  of(provider: string): ProviderSteering | undefined {
    if (!isSteered(this.#port.config(), provider)) return undefined;
    const known = this.#providers.get(provider);
    if (known) return known.steering;
    const { clock } = this.#port;
    const steering = new ProviderSteering({
      now: () => clock.now(),
      later: (ms, then) => clock.setTimer(ms, then),
      changed: () => this.#changed(provider),
      settled: () => this.#port.settled(provider),
    });
    this.#providers.set(provider, { steering, cancel: undefined });
    return steering;
  }

  /** How the configured providers do, those that are well left out. */
  reports(): { provider: string; report: SteeringReport }[] {
    return [...this.#providers]
      .filter(([provider]) => this.#port.config().providers.has(provider) && this.of(provider))
      .map(([provider, { steering }]) => ({ provider, report: steering.report() }))
      .filter(({ report: { provider, speed, labels, zones } }) => {
        const isWell = provider.state === 'closed' && speed.state === 'closed';
        return !isWell || labels.length + zones.length > 0;
      });
  }

  /** Names of providers whose launches fail. */
  failingProviders(): string[] {
    return this.reports()
      .filter(({ report }) => report.provider.state !== 'closed')
      .map(({ provider }) => provider);
  }

  close(): void {
    for (const { cancel } of this.#providers.values()) cancel?.();
  }

  #changed(provider: string): void {
    const entry = this.#providers.get(provider);
    if (!entry) return;
    this.#log(provider, entry.steering.report());
    this.#awaitProbe(provider, entry);
    this.#port.changed(provider);
  }

  /** Each line has the error of its own failure: a label may lack capacity in a provider that is well. */
  #log(provider: string, { provider: health, labels, speed }: SteeringReport): void {
    const { logger, clock } = this.#port;
    const detailsOf = ({ state, failures, error, failedMs }: HealthReport) => {
      const age = failedMs === undefined ? {} : { errorAgeMs: clock.now() - failedMs };
      return { state, failures, error, ...age };
    };
    if (health.state !== 'closed')
      logger.warn('Provider fails; requests go to others', { provider, ...detailsOf(health) });
    for (const { label, health: own } of labels) {
      const fields = { provider, label, ...detailsOf(own) };
      logger.warn('Launches of a label fail in a provider; requests for it go to others', fields);
    }
    if (health.state !== 'closed' || labels.length > 0) return;
    if (speed.state === 'closed') logger.info('Provider is well again', { provider });
    else logger.warn('Provider is slow; others are asked first', { provider, error: speed.error });
  }

  #awaitProbe(provider: string, entry: SteeredProvider): void {
    const { clock, changed } = this.#port;
    entry.cancel?.();
    entry.cancel = undefined;
    const { nextProbeMs } = entry.steering;
    if (nextProbeMs === undefined) return;
    entry.cancel = clock.setTimer(Math.max(0, nextProbeMs - clock.now()), () => {
      this.#awaitProbe(provider, entry);
      changed(provider);
    });
  }
}
