import type { CancelTimer, Clock } from '@nodepool/zk-protocol';
import type { Config } from '../contract/config.js';
import type { Logger } from '../contract/logger.js';
import { maxServersOf } from './limits.js';
import { Installation } from './installation.js';
import { InstallationGauges } from './installation-gauges.js';
import { Leadership } from './leadership.js';
import type { Statsd } from './statsd/statsd.js';
import { CACHES, type CacheName } from './table/table.js';
import type { CacheQueues, MetricsAttachment, ObservedLauncher } from './types.js';

/** Time between two reports of the launcher's own figures. */
const REPORT_MS = 10_000;

/** What a follower works with. */
export interface FollowerOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Host name up to the first dot. */
  readonly host: string;
  readonly pid: number;
  /** Missing: nothing is sent, and no election is held. */
  readonly statsd: Statsd | undefined;
}

/** Follows one launcher: counts what its caches show, and sends statsd what is not a happening. */
export class Follower implements MetricsAttachment {
  readonly launcher: ObservedLauncher;
  readonly installation: Installation;
  readonly #options: FollowerOptions;
  readonly #leadership: Leadership | undefined;
  readonly #unsubscribe: (() => void)[];
  #cancelReport: CancelTimer | undefined;
  #limitedProviders: ReadonlySet<string> = new Set();
  /** Resources by tenant. */
  #limitedTenants: ReadonlyMap<string, readonly string[]> = new Map();
  #started = false;
  #stopped = false;

  constructor(launcher: ObservedLauncher, options: FollowerOptions) {
    this.launcher = launcher;
    this.#options = options;
    this.installation = new Installation(() => launcher.registry.pools);
    this.#leadership = options.statsd && this.#createLeadership(options.statsd);
    this.#unsubscribe = [
      launcher.nodes.onChange((change) => this.installation.nodeChanged(change) && this.#leadership?.changed()),
      launcher.requests.onChange((change) => this.installation.requestChanged(change) && this.#leadership?.changed()),
      launcher.registry.onChange(() => {
        this.installation.poolsChanged();
        this.#leadership?.changed();
      }),
    ];
  }

  get leading(): boolean {
    return this.#leadership?.leading ?? false;
  }

  start(): void {
    if (this.#started || this.#stopped || !this.#options.statsd) return;
    this.#started = true;
    this.#leadership?.start();
    this.#report();
  }

  configChanged(): void {
    if (this.#started) this.#sendLimits();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelReport?.();
    this.#leadership?.stop();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  /** The caches by their names in metrics. */
  caches(): readonly (readonly [cache: CacheName, queues: CacheQueues])[] {
    const { nodes, requests, images } = this.launcher;
    const queues: Record<CacheName, CacheQueues> = { node: nodes, request: requests, image: images };
    return CACHES.map((cache) => [cache, queues[cache]] as const);
  }

  #createLeadership(statsd: Statsd): Leadership {
    const { clock, logger, host, pid } = this.#options;
    const gauges = new InstallationGauges(statsd, this.installation);
    return new Leadership({
      zk: this.launcher.zk,
      clock,
      logger,
      identifier: `${host}-${pid}`,
      send: (everything) => gauges.send(everything),
    });
  }

  /** Sends the launcher's own figures, and again what a lost datagram may have failed to bring. */
  #report(): void {
    if (this.#stopped) return;
    this.#cancelReport = this.#options.clock.setTimer(REPORT_MS, () => this.#report());
    const { statsd, host } = this.#options;
    statsd?.gauge('connectionQueue', { host }, this.launcher.zk.counters.pending);
    for (const [cache, { eventQueue, playbackQueue }] of this.caches()) {
      statsd?.gauge('eventQueue', { host, cache }, eventQueue);
      statsd?.gauge('playbackQueue', { host, cache }, playbackQueue);
    }
    this.#sendLimits();
    this.#leadership?.refresh();
  }

  #sendLimits(): void {
    const { providers, tenantLimits } = this.launcher.config();
    this.#sendProviderLimits(providers);
    this.#sendTenantLimits(tenantLimits);
  }

  #sendProviderLimits(providers: Config['providers']): void {
    const { statsd } = this.#options;
    for (const provider of this.#limitedProviders) {
      if (!providers.has(provider)) statsd?.gauge('maxServers', { provider }, 0);
    }
    this.#limitedProviders = new Set(providers.keys());
    for (const [provider, config] of providers) statsd?.gauge('maxServers', { provider }, maxServersOf(config));
  }

  #sendTenantLimits(tenantLimits: Config['tenantLimits']): void {
    const { statsd } = this.#options;
    for (const [tenant, resources] of this.#limitedTenants) {
      const limits = tenantLimits.get(tenant) ?? {};
      for (const resource of resources) {
        if (!(resource in limits)) statsd?.gauge('tenantLimit', { tenant, resource }, 0);
      }
    }
    this.#limitedTenants = new Map([...tenantLimits].map(([tenant, limits]) => [tenant, Object.keys(limits)]));
    for (const [tenant, limits] of tenantLimits) {
      for (const [resource, limit] of Object.entries(limits)) {
        statsd?.gauge('tenantLimit', { tenant, resource }, limit);
      }
    }
  }
}
