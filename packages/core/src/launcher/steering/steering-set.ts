import type { CancelTimer, Clock } from '@nodepool/zk-protocol';
import type { Config } from '../../contract/config.js';
import type { Logger } from '../../contract/logger.js';
import { ProviderSteering, type SteeringReport } from './provider-steering.js';

/** What the steering of all providers needs of the launcher around it. */
export interface SteeringSetPort {
  readonly clock: Clock;
  readonly logger: Logger;
  config(): Config;
  /** A provider or one of its labels fails, is well again, or it is time for a probe. */
  readonly changed: (provider: string) => void;
}

/** Whether a provider is steered around while it fails. */
export function isSteered(config: Config, provider: string): boolean {
  const own = config.providers.get(provider)?.entry['steering'];
  return typeof own === 'boolean' ? own : (config.steering ?? true);
}

/** What launches have shown of each provider. */
export class SteeringSet {
  readonly #port: SteeringSetPort;
  readonly #providers = new Map<string, { steering: ProviderSteering; cancel: CancelTimer | undefined }>();

  constructor(port: SteeringSetPort) {
    this.#port = port;
  }

  /** @returns `undefined` where steering is off */
  of(provider: string): ProviderSteering | undefined {
    if (!isSteered(this.#port.config(), provider)) return undefined;
    const known = this.#providers.get(provider);
    if (known) return known.steering;
    const steering = new ProviderSteering(
      () => this.#port.clock.now(),
      () => this.#changed(provider),
    );
    this.#providers.set(provider, { steering, cancel: undefined });
    return steering;
  }

  /** How the configured providers do, those that are well left out. */
  reports(): { provider: string; report: SteeringReport }[] {
    return [...this.#providers]
      .filter(([provider]) => this.#port.config().providers.has(provider) && this.of(provider))
      .map(([provider, { steering }]) => ({ provider, report: steering.report() }))
      .filter(({ report }) => report.provider.state !== 'closed' || report.labels.length + report.zones.length > 0);
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
    const { clock, logger, changed } = this.#port;
    entry.cancel?.();
    entry.cancel = undefined;
    const report = entry.steering.report();
    const { state, failures, error } = report.provider;
    if (state === 'closed' && report.labels.length === 0) logger.info('Provider is well again', { provider });
    else logger.warn('Provider fails; requests go to others', { provider, state, failures, error });
    const nextMs = entry.steering.nextProbeMs(report.labels.map(({ label }) => label));
    if (nextMs !== undefined) {
      entry.cancel = clock.setTimer(Math.max(0, nextMs - clock.now()), () => {
        entry.cancel = undefined;
        changed(provider);
      });
    }
    changed(provider);
  }
}
