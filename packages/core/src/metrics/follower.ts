import type { CancelTimer, Clock } from '@nodepool/zk-protocol';
import type { Logger } from '../contract/logger.js';
import { GaugeSender } from './gauge-sender.js';
import { Installation } from './installation.js';
import { Leadership } from './leadership.js';
import type { Readers } from './exposition.js';
import type { Statsd } from './statsd/statsd.js';
import { CACHES, type CacheName } from './table/table.js';
import type { CacheQueues, MetricsAttachment, ObservedLauncher } from './types.js';

/** Interval between reports of the launcher's own metrics. */
const REPORT_MS = 10_000;
/** Gauges of the installation, sent by the elected launcher only. */
const INSTALLATION = ['nodes', 'labelNodes', 'providerNodes', 'addressableRequests'] as const;
const LIMITS = ['maxServers', 'tenantLimit'] as const;
/** Gauges that each launcher sends. */
const OWN = ['connectionQueue', 'eventQueue', 'playbackQueue', ...LIMITS] as const;

/** Options of a follower. */
export interface FollowerOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Host name up to the first dot. */
  readonly host: string;
  readonly pid: number;
  /** Optional; without it nothing is sent and no election is held. */
  readonly statsd: Statsd | undefined;
  readonly readers: Readers;
}

/** Observes one launcher: counts the records in its caches and sends gauges to statsd. */
export class Follower implements MetricsAttachment {
  readonly launcher: ObservedLauncher;
  readonly installation: Installation;
  readonly #options: FollowerOptions;
  readonly #gauges: GaugeSender | undefined;
  readonly #leadership: Leadership | undefined;
  readonly #unsubscribe: (() => void)[];
  #cancelReport: CancelTimer | undefined;
  #started = false;
  #stopped = false;

  constructor(launcher: ObservedLauncher, options: FollowerOptions) {
    this.launcher = launcher;
    this.#options = options;
    this.installation = new Installation(() => launcher.registry.pools);
    const { statsd, readers, host } = options;
    this.#gauges = statsd && new GaugeSender(statsd, readers, { host });
    this.#leadership = this.#gauges && this.#createLeadership(this.#gauges);
    this.#unsubscribe = [
      launcher.nodes.onChange((change) => this.installation.nodeChanged(change) && this.#leadership?.changed()),
      launcher.requests.onChange((change) => this.installation.requestChanged(change) && this.#leadership?.changed()),
      launcher.onPoolChange(() => {
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
    if (this.#started) this.#gauges?.send(LIMITS, true);
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelReport?.();
    this.#leadership?.stop();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  /** Caches with their names in metrics. */
  caches(): readonly (readonly [cache: CacheName, queues: CacheQueues])[] {
    const { nodes, requests, images } = this.launcher;
    const queues: Record<CacheName, CacheQueues> = { node: nodes, request: requests, image: images };
    return CACHES.map((cache) => [cache, queues[cache]] as const);
  }

  #createLeadership(gauges: GaugeSender): Leadership {
    const { clock, logger, host, pid } = this.#options;
    return new Leadership({
      zk: this.launcher.zk,
      clock,
      logger,
      identifier: `${host}-${pid}`,
      send: (everything) => gauges.send(INSTALLATION, everything),
    });
  }

  /** Sends the launcher's own metrics, and repeats gauges in case a datagram was lost. */
  #report(): void {
    if (this.#stopped) return;
    this.#cancelReport = this.#options.clock.setTimer(REPORT_MS, () => this.#report());
    this.#gauges?.send(OWN, true);
    this.#leadership?.refresh();
  }
}
