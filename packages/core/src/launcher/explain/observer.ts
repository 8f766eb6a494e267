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
import { ConfigInForce } from '../state/config-in-force.js';
import { ControlMirror } from '../state/controls.js';
import { LifeCycle } from '../state/life-cycle.js';
import { Mirror, nodesAllocatedTo } from '../state/mirror.js';
import {
  explainRequest,
  type ExplainSubject,
  type PoolExplanation,
  type RequestExplanation,
} from '../plan/explanation.js';
import { LauncherEvents } from '../events.js';
import type { PoolView } from '../plan/types.js';
import { ObservedPool } from './observed-pool.js';
import { Ledger } from '../ledger/ledger.js';
import { RegisteredPools } from '../registry/registered-pools.js';
import { SharedPools } from '../registry/shared-pools.js';
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
 * Sees what launchers see and decides as they would, without being one: nothing is registered, started or written. Limits
 * of clouds and the state of images are unknown to it. {@link add} configurations first, then {@link start} once.
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
    this.#options = options;
    this.nodes = createNodeCache({ zk, clock, logger });
    this.requests = createRequestCache({ zk, clock, logger });
    this.#components = createComponentCache({ zk, clock, logger });
    this.#controlCache = createControlCache({ zk, clock, logger });
    this.#controls = new ControlMirror(this.#controlCache, clock);
    this.#registered = new RegisteredPools(this.#components);
  }

  /** Registered pools of all launchers. */
  get pools(): readonly PoolComponentRecord[] {
    return this.#registered.pools;
  }

  /**
   * Makes the providers of a configuration without starting them.
   * @throws {DriverError} a driver cannot be used on this machine
   */
  async add(config: Config): Promise<ObservedConfig> {
    const { zk, clock, logger, hostname, registry } = this.#options;
    const runners = new Map<string, ProviderRunner>();
    const mirror = new Mirror(this.nodes, this.requests);
    this.#mirrors.push(mirror);
    const committer = { commit: refuseToWrite };
    const controls = this.#controls;
    const context: Context = {
      ...{ zk, committer, mirror, controls, clock, logger, hostname, version: '' },
      ...{ events: new LauncherEvents(), random: Math.random },
      config: new ConfigInForce(config),
      life: new LifeCycle(zk, [this.nodes, this.requests]),
    };
    for (const providerConfig of config.providers.values()) {
      const driver = await registry.get(providerConfig.driverName);
      const provider = driver.getProvider(providerConfig, this.#contextFor(providerConfig, config, context));
      runners.set(providerConfig.name, new ProviderRunner(context, { driver }, provider));
    }
    return new ObservedPools(config, context, runners, this.#registered);
  }

  /** Resolves when everything has been read. */
  async start(signal?: AbortSignal): Promise<void> {
    const caches = [this.nodes, this.requests, this.#components, this.#controlCache];
    await Promise.all(caches.map((cache) => cache.start()));
    await Promise.all(caches.map((cache) => cache.whenReady(signal)));
  }

  /** Ends all watches. */
  stop(): void {
    for (const mirror of this.#mirrors) mirror.close();
    this.#registered.close();
    this.nodes.stop();
    this.requests.stop();
    this.#components.stop();
    this.#controls.close();
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
   * Why a request is where it is, or what would become of one for these labels: registered pools that the configuration
   * names are judged by it.
   * @returns `undefined` for an unknown request id
   */
  explain(subject: ExplainSubject): RequestExplanation | undefined;
  /**
   * A view of each configured pool, one for every entry it has among the given pools; a pool without one gets an id no
   * launcher has.
   */
  views(registered: readonly PoolComponentRecord[]): ObservedView[];
}

class ObservedPools implements ObservedConfig {
  readonly config: Config;
  readonly #context: Context;
  readonly #runners: ReadonlyMap<string, ProviderRunner>;
  readonly #registered: RegisteredPools;
  readonly #ledger: Ledger;
  readonly #shared: SharedPools;

  constructor(
    config: Config,
    context: Context,
    runners: ReadonlyMap<string, ProviderRunner>,
    registered: RegisteredPools,
  ) {
    this.config = config;
    this.#context = context;
    this.#runners = runners;
    this.#registered = registered;
    this.#ledger = new Ledger(context, this);
    this.#shared = new SharedPools(registered, new Set());
  }

  runnerOf({ provider }: NodeRecord): ProviderRunner | undefined {
    return provider === null ? undefined : this.#runners.get(provider);
  }

  explain(subject: ExplainSubject): RequestExplanation | undefined {
    const { mirror, clock } = this.#context;
    const registered = this.#registered.pools;
    const isServed = (pool: ObservedPool) => registered.some((entry) => entry.launcherId === pool.launcherId);
    const pools = this.#pools(registered);
    const workers = pools.filter(isServed);
    for (const worker of workers) worker.observe(mirror.requests.values());
    const nodesOf = (id: string) => nodesAllocatedTo(mirror, id);
    const sources = { requests: mirror.requests, workers, registered, nodesOf, nowMs: clock.now() };
    const explanation = explainRequest(subject, sources);
    const idle = pools.filter((pool) => !isServed(pool)).map(explainIdle);
    return explanation && { ...explanation, pools: [...explanation.pools, ...idle] };
  }

  views(registered: readonly PoolComponentRecord[]): ObservedView[] {
    return this.#pools(registered);
  }

  #pools(registered: readonly PoolComponentRecord[]): ObservedPool[] {
    return [...this.#runners.values()].flatMap((runner) =>
      [...runner.config.pools.values()].flatMap((pool) =>
        idsOf(runner.name, pool, registered).map((id) => this.#viewOf(runner, pool, id, registered)),
      ),
    );
  }

  #viewOf(
    runner: ProviderRunner,
    pool: PoolConfig,
    launcherId: LauncherId,
    registered: readonly PoolComponentRecord[],
  ): ObservedPool {
    const registry = { candidates: registered, shared: this.#shared };
    return new ObservedPool(this.#context, { runner, pool, launcherId, registry, ledger: this.#ledger });
  }
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
    hindrances: [],
  };
}

function refuseToWrite(): never {
  throw new NodepoolError('NODEPOOL_READ_ONLY', 'an observer was asked to write to ZooKeeper: a driver did so unasked');
}
