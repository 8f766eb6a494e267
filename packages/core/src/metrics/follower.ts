import type { CancelTimer, Clock } from '@nodepool/zk-protocol';
import type { Logger } from '../contract/logger.js';
import { Installation } from './installation.js';
import { NodeSeconds } from './node-seconds.js';
import { Leadership } from './leadership.js';
import type { Readers, Sample } from './exposition.js';
import type { Statsd } from './statsd/statsd.js';
import { CACHES, type CacheName } from './table/table.js';
import type { CacheQueues, MetricsAttachment, ObservedLauncher } from './types.js';
import type { LabelValues } from './table/definition.js';
import type { PrometheusKey, StatsdKey } from './table/table.js';

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
  readonly nodeSeconds: NodeSeconds;
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
    this.nodeSeconds = new NodeSeconds(options.clock, () => launcher.config().labels);
    const { statsd, readers, host } = options;
    this.#gauges = statsd && new GaugeSender(statsd, readers, { host });
    this.#leadership = this.#gauges && this.#createLeadership(this.#gauges);
    this.#unsubscribe = [
      launcher.nodes.onChange((change) => this.installation.nodeChanged(change) && this.#leadership?.changed()),
      launcher.nodes.onChange((change) => this.nodeSeconds.change(change)),
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

/** Sends gauges to statsd from the readers of the exposition, and a final zero for each removed series. */
class GaugeSender {
  readonly #sent = new Map<string, ReadonlyMap<string, Sample>>();

  /** @param labels - labels available to every name */
  constructor(
    private readonly statsd: Statsd,
    private readonly readers: Readers,
    private readonly labels: LabelValues,
  ) {}

  /** @param everything - `false` sends only values that changed since the last call */
  send(keys: readonly (PrometheusKey & StatsdKey)[], everything: boolean): void {
    for (const key of keys) {
      const before = this.#sent.get(key);
      const now = new Map<string, Sample>();
      for (const sample of this.readers[key]?.() ?? []) {
        const [labels, value] = sample;
        const id = idOf(labels);
        now.set(id, sample);
        if (everything || before?.get(id)?.[1] !== value) this.#gauge(key, labels, value);
      }
      for (const [id, [labels]] of before ?? []) if (!now.has(id)) this.#gauge(key, labels, 0);
      this.#sent.set(key, now);
    }
  }

  #gauge(key: StatsdKey, labels: LabelValues, value: number): void {
    this.statsd.gauge(key, { ...this.labels, ...labels }, value);
  }
}

function idOf(labels: LabelValues): string {
  let id = '';
  for (const name in labels) id += `${labels[name as keyof LabelValues]}\0`;
  return id;
}
