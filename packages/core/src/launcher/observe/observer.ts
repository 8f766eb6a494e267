import {
  createComponentCache,
  createControlCache,
  createNodeCache,
  createRequestCache,
  NodepoolError,
  type Clock,
  type ComponentCache,
  type ControlCache,
  type LauncherId,
  type NodeCache,
  type NodeRecord,
  type PoolComponentRecord,
  type RequestCache,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import type { Config } from '../../contract/config.js';
import type { DriverRegistry } from '../../config/discovery/registry-types.js';
import type { ProviderContext } from '../../contract/driver.js';
import type { PoolConfig, ProviderConfig } from '../../contract/provider-config.js';
import type { Context } from '../state/context.js';
import type { Logger } from '../../contract/logger.js';
import { unregisteredId } from '../preview/registry-after.js';
import { ControlMirror } from '../state/controls.js';
import { LifeCycle } from '../state/life-cycle.js';
import { Mirror, nodesAllocatedTo } from '../state/mirror.js';
import {
  explainRequest,
  type ExplainSubject,
  type PoolExplanation,
  type RequestExplanation,
} from '../plan/explanation.js';
import { LauncherEvents } from '../state/events.js';
import type { PoolView } from '../plan/types.js';
import { ObservedPool } from './observed-pool.js';
import { Ledger } from '../ledger/ledger.js';
import { RegisteredPools } from '../registry/registered-pools.js';
import { ProviderRunner } from '../providers/provider-runner.js';

/** Options of an {@link Observer}. */
export interface ObserverOptions {
  /** The caller connects and closes it. */
  readonly zk: ZooKeeper;
  readonly registry: DriverRegistry;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly hostname: string;
}

/**
 * Judges requests as launchers would, without being one: registers, starts and writes nothing. Does not know the limits of
 * clouds and the state of images. {@link add} configurations first, then {@link start} once.
 */
export class Observer {
  readonly nodes: NodeCache;
  readonly requests: RequestCache;
  readonly #options: ObserverOptions;
  readonly #components: ComponentCache;
  readonly #controlCache: ControlCache;
  readonly #controls: ControlMirror;
  readonly #registered: RegisteredPools;
  readonly #mirrors: Mirror[] = [];

  constructor(options: ObserverOptions) {
    const { zk, clock, logger } = options;
    const events = new LauncherEvents();
    this.#options = options;
    this.nodes = createNodeCache({ zk, clock, logger });
    this.requests = createRequestCache({ zk, clock, logger });
    this.#components = createComponentCache({ zk, clock, logger });
    this.#controlCache = createControlCache({ zk, clock, logger });
    this.#controls = new ControlMirror(this.#controlCache, { clock, events });
    this.#registered = new RegisteredPools(this.#components, events, new Set());
  }

  /** Registered pools of all launchers. */
  get pools(): readonly PoolComponentRecord[] {
    return this.#registered.pools;
  }

  /**
   * Creates the providers of a configuration without starting them.
   * @throws {DriverError} a driver cannot be used on this machine
   */
  async add(config: Config): Promise<ObservedConfig> {
    const { zk, clock, logger, hostname, registry } = this.#options;
    const runners = new Map<string, ProviderRunner>();
    const events = new LauncherEvents();
    const mirror = new Mirror(this.nodes, this.requests, events);
    this.#mirrors.push(mirror);
    const committer = { commit: refuseToWrite };
    const controls = this.#controls;
    const context: Context = {
      ...{ zk, committer, mirror, controls, clock, logger, hostname, version: '' },
      ...{ events, random: Math.random, config: { now: config } },
      life: new LifeCycle(zk, [this.nodes, this.requests], clock),
    };
    for (const providerConfig of config.providers.values()) {
      const driver = await registry.get(providerConfig.driverName);
      const provider = driver.getProvider(providerConfig, this.#contextFor(providerConfig, config, context));
      runners.set(providerConfig.name, new ProviderRunner(context, driver, provider));
    }
    const runnerOf = ({ provider }: Pick<NodeRecord, 'provider'>) =>
      provider === null ? undefined : runners.get(provider);
    const ledger = new Ledger(context, { runnerOf });
    const sources = { context, runners: [...runners.values()], registered: this.#registered, ledger };
    return {
      config,
      explain: (subject) => explain(subject, sources),
      views: (registered) => poolsOf(sources, registered),
    };
  }

  /** Resolves when all records have been read. */
  async start(signal?: AbortSignal): Promise<void> {
    const caches = [this.nodes, this.requests, this.#components, this.#controlCache];
    await Promise.all(caches.map((cache) => cache.start()));
    await Promise.all(caches.map((cache) => cache.whenReady(signal)));
  }

  /** Ends all watches. */
  stop(): void {
    for (const mirror of this.#mirrors) mirror.stop();
    this.#registered.close();
    this.nodes.stop();
    this.requests.stop();
    this.#components.stop();
    this.#controls.stop();
    this.#controlCache.stop();
  }

  #contextFor({ name }: ProviderConfig, config: Config, context: Context): ProviderContext {
    const { zk, clock, committer, hostname, logger, random } = context;
    return {
      ...{ zk, clock, committer, hostname, random, databaseId: undefined },
      nodes: this.nodes,
      requests: this.requests,
      logger: logger.child({ provider: name }),
      config: () => config,
      ownNodes: () => [...this.nodes.values()].filter((node) => node.provider === name),
      capacityChanged: () => undefined,
    };
  }
}

/** A configured pool as the plan sees it, with its id in the registry. */
export interface ObservedView extends PoolView {
  readonly launcherId: LauncherId;
}

/** The pools of one configuration, over the records an {@link Observer} reads. */
export interface ObservedConfig {
  readonly config: Config;
  /**
   * Explains why a request is waiting, or how one for these labels would be served. Registered pools that the configuration
   * names are judged by it.
   * @returns `undefined` for an unknown request id
   */
  explain(subject: ExplainSubject): RequestExplanation | undefined;
  /** Views of the configured pools, one for each of their entries among the given pools; a pool without entry has one view. */
  views(registered: readonly PoolComponentRecord[]): ObservedView[];
}

/** What the pools of one configuration are judged by. */
interface ObservedSources {
  readonly context: Context;
  readonly runners: readonly ProviderRunner[];
  readonly registered: RegisteredPools;
  readonly ledger: Ledger;
}

function explain(subject: ExplainSubject, sources: ObservedSources): RequestExplanation | undefined {
  const { mirror, clock } = sources.context;
  const registered = sources.registered.pools;
  const isServed = (pool: ObservedPool) => registered.some((entry) => entry.launcherId === pool.launcherId);
  const pools = poolsOf(sources, registered);
  const workers = pools.filter(isServed);
  for (const worker of workers) worker.observe(mirror.requests.values());
  const nodesOf = (id: string) => nodesAllocatedTo(mirror, id);
  const { requests } = mirror;
  const explanation = explainRequest(subject, { requests, workers, registered, nodesOf, nowMs: clock.now() });
  const idle = pools.filter((pool) => !isServed(pool)).map(explainIdle);
  return explanation && { ...explanation, pools: [...explanation.pools, ...idle] };
}

function poolsOf(
  { context, runners, registered, ledger }: ObservedSources,
  candidates: readonly PoolComponentRecord[],
): ObservedPool[] {
  const registry = { candidates, registered };
  return runners.flatMap((runner) =>
    [...runner.config.pools.values()].flatMap((pool) =>
      idsOf(runner.name, pool, candidates).map(
        (launcherId) => new ObservedPool(context, { runner, pool, launcherId, registry, ledger }),
      ),
    ),
  );
}

function idsOf(provider: string, pool: PoolConfig, registered: readonly PoolComponentRecord[]): LauncherId[] {
  const ids = registered
    .filter((entry) => entry.providerName === provider && entry.name === pool.name)
    .map((entry) => entry.launcherId);
  return ids.length > 0 ? ids : [unregisteredId(provider, pool.name)];
}

function explainIdle({ provider, pool, launcherId }: ObservedPool): PoolExplanation {
  return {
    provider,
    pool: pool.name,
    launcherId,
    own: true,
    action: 'skip',
    rule: undefined,
    text: 'it is configured, but no launcher has registered it',
    remedy: 'start a launcher with this configuration',
    details: {},
    position: undefined,
    blockers: [],
  };
}

function refuseToWrite(): never {
  throw new NodepoolError('NODEPOOL_READ_ONLY', 'an observer was asked to write to ZooKeeper: a driver did so unasked');
}
