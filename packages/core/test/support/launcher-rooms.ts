import {
  COMPONENTS_ROOT,
  createComponentCache,
  decodeRequest,
  encodeComponent,
  encodeRequest,
  newPoolComponent,
  newRequest,
  NODES_ROOT,
  requestPath,
  REQUESTS_ROOT,
  type LauncherId,
  type NodeId,
  type PoolComponentRecord,
  type RequestFields,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import { countedClock } from '../../src/async/counted-clock.js';
import type { DriverRegistry } from '../../src/config/index.js';
import type { Config } from '../../src/contract/config.js';
import type { Driver, Provider } from '../../src/contract/driver.js';
import { stoppedSpares } from '../../src/features/stopped-spares/index.js';
import { firstPoolFor } from '../../src/launcher/plan/first-pool.js';
import { Steered } from '../../src/launcher/plan/steering.js';
import { SteeringSet } from '../../src/features/steering/steering-set.js';
import type { Engine, Feature } from '../../src/launcher/nodes/feature.js';
import { IdleNodes } from '../../src/launcher/nodes/idle-nodes.js';
import { RequestedByOthers } from '../../src/features/standby/requested-by-others.js';
import { Levels } from '../../src/features/standby/levels.js';
import { LivePoolView } from '../../src/launcher/view/pool-view.js';
import { ProviderSet } from '../../src/launcher/providers/provider-set.js';
import type { ProviderRunner } from '../../src/launcher/providers/provider-runner.js';
import type { PoolConfig } from '../../src/contract/provider-config.js';
import { PoolSet } from '../../src/launcher/pools/pool-set.js';
import { LaunchTurns } from '../../src/launcher/requests/launch-turns.js';
import { DelayedUnlocks } from '../../src/launcher/requests/delayed-unlocks.js';
import { LostRequests } from '../../src/launcher/requests/lost-requests.js';
import { Ledger } from '../../src/launcher/ledger/ledger.js';
import { PoolRegistry } from '../../src/launcher/registry/pool-registry.js';
import type { ServerTime } from '../../src/launcher/state/server-clock.js';
import { ImageMirror } from '../../src/launcher/state/image-mirror.js';
import { poolKey } from '../../src/launcher/state/pool-key.js';
import { PoolViews } from '../../src/launcher/view/pool-views.js';
import { idleProvider } from './idle-provider.js';
import { plainDriver, registryOf } from './plain-driver.js';
import { poolConfig } from './pool-config.js';
import { rackConfig, rackProvider } from './rack-world.js';
import { ServiceWorld } from './service-world.js';

/** Provider `p`, which launches nodes of label `a` in its pool `main` and keeps one on standby. */
export const standbyConfig: Config = {
  ...rackConfig,
  labels: new Map(['a', 'b'].map((name) => [name, { name, minReady: name === 'a' ? 1 : 0, maxReadyAgeMs: 0 }])),
  providers: new Map([
    ['p', { ...rackProvider, name: 'p', pools: new Map([['main', poolConfig('main', ['a', 'b'])]]) }],
  ]),
};

/** Drivers of launching providers whose nodes have no instances, with the given changes. */
export function launchingDrivers(
  changes: Partial<Provider> = {},
  able: Partial<Driver['capabilities']> = {},
): DriverRegistry {
  const capabilities = { launches: true, pausesAtQuota: false, managesImages: false, ...able };
  return registryOf(plainDriver('idle', { capabilities, getProvider: (config) => idleProvider(config, changes) }));
}

/** What a pool of this release says in its entry, and one of the original does not. */
export const OURS: Partial<PoolComponentRecord> = { firstPoolPauseMs: 0, raw: { stopped_spares: [] } };

/** The parts of a launcher that serving requests and managing nodes depend on, in a {@link ServiceWorld}. */
export class LauncherRooms {
  readonly world: ServiceWorld;
  readonly steering = new Steered();
  readonly registry: PoolRegistry;
  readonly images: ImageMirror;
  readonly providers: ProviderSet;
  readonly ledger: Ledger;
  readonly views: PoolViews;
  readonly unlocks: DelayedUnlocks;
  readonly others: RequestedByOthers;
  /** Those that say how many standby nodes to keep. */
  readonly features: Feature[] = [];
  readonly levels: Levels;
  readonly idle: IdleNodes;
  readonly spares: Feature;
  readonly turns: LaunchTurns;

  private constructor(world: ServiceWorld, drivers: DriverRegistry) {
    const { context } = world;
    const components = createComponentCache(context);
    this.world = world;
    this.steering.by = new SteeringSet(context);
    this.registry = new PoolRegistry(context, components);
    this.images = new ImageMirror(context);
    this.providers = new ProviderSet(context, drivers, this.images, this.steering, this.registry);
    this.ledger = new Ledger(context, this.providers);
    this.views = new PoolViews(context, this.steering, this.registry);
    this.unlocks = new DelayedUnlocks(context);
    this.others = new RequestedByOthers(context, this.views);
    this.levels = new Levels(context, this.views, this.others, this.features);
    this.idle = new IdleNodes(context);
    this.spares = stoppedSpares(this.engine());
    this.turns = new LaunchTurns(context);
    this.started = components.start();
  }

  readonly started: Promise<void>;

  /** What features get, with the given changes. */
  engine(changes: Partial<Omit<Engine, 'serverClock'> & { serverClock: ServerTime }> = {}): Engine {
    const { providers, registry, ledger, views, features, levels, idle, images } = this;
    const { context } = this.world;
    const none = () => undefined;
    const reaper = { claimUsed: none, keepUnfinished: none, look: none }; // nothing is deleted here, or lost
    const [lost, pools] = [{ claim: none, look: none, isRecovering: () => false }, { serve: none }];
    const mostParked = (label: string) => levels.mostParked(label);
    const freeNodes = { mostParked, isMissing: () => false, check: none, explain: none };
    const own = { context, providers, registry, ledger, lost, pools, views, features, freeNodes, idle, reaper, images };
    const { serverClock = context.clock } = changes;
    const time = { ...countedClock(context.clock), now: () => serverClock.now() };
    return { ...own, ...changes, serverClock: time };
  }

  /** Creates the parts with providers and pools of the configuration. */
  static async open(
    config = standbyConfig,
    drivers = launchingDrivers(),
    world?: ServiceWorld,
  ): Promise<LauncherRooms> {
    const within = world ?? (await ServiceWorld.open());
    await within.clock.run(within.other.ensurePath(`${COMPONENTS_ROOT}/pool`));
    const rooms = new LauncherRooms(within, drivers);
    await within.clock.run(rooms.started);
    await rooms.configure(config);
    return rooms;
  }

  /** Applies another configuration. */
  async configure(config: Config): Promise<void> {
    const { context, clock } = this.world;
    context.config.now = config;
    this.registry.expect(config);
    await clock.run(this.providers.apply(config));
    for (const { provider } of this.views.all) this.views.delete(poolKey(provider, 'main'));
    for (const runner of this.providers.configured) {
      for (const pool of runner.config.pools.values()) {
        const key = poolKey(runner.name, pool.name);
        this.views.add(key, this.viewOf(runner, pool));
      }
    }
  }

  /** A pool as the planner sees it. */
  viewOf(runner: ProviderRunner, pool: PoolConfig): LivePoolView {
    const { registry, steering, ledger } = this;
    const launcherId = registry.idOf(poolKey(runner.name, pool.name));
    return new LivePoolView(this.world.context, { runner, pool, launcherId, registry, steering, ledger });
  }

  /** Registers pool `main` of provider `p` with labels `a` and `b` and the given changes. @returns its path */
  async register(changes: Partial<PoolComponentRecord> = {}, zk = this.world.other): Promise<string> {
    const { clock, context } = this.world;
    const body = newPoolComponent({
      ...{ name: 'main', providerName: 'p', launcherId: 'another' as LauncherId, hostname: 'nl02', state: 'running' },
      ...{ version: '1', supportedLabels: ['a', 'b'], priority: 100, paused: false, ...changes },
    });
    const options = { ephemeral: true, sequential: true };
    const path = await clock.run(
      zk.create(`${COMPONENTS_ROOT}/pool/${context.hostname}-`, encodeComponent(body), options),
    );
    await this.world.pass(100);
    return path;
  }

  /** Registers this launcher's pool, with the given changes. */
  async registerOwn(changes: Partial<PoolComponentRecord> = {}): Promise<string> {
    const launcherId = this.registry.idOf(poolKey('p', 'main'));
    return this.register({ launcherId, ...OURS, ...changes }, this.world.context.zk);
  }

  /** Registers this launcher's pool, and the same pool of a launcher that reclaims the node first. @returns path of the latter */
  async share(node: NodeId): Promise<string> {
    const own = this.registry.idOf(poolKey('p', 'main'));
    await this.register({ launcherId: own, firstPoolPauseMs: 250 });
    for (let i = 0; ; i++) {
      const launcherId = `another-${i}` as LauncherId; // our id is random, so that any number of others may come after it
      if (firstPoolFor(node, [{ launcherId: own }, { launcherId }])?.launcherId !== launcherId) continue;
      return this.register({ launcherId, firstPoolPauseMs: 250 });
    }
  }

  /** Starts and ends a launch of the provider. @param error - error of a failed launch */
  tryLaunch(label: string, error?: Error): void {
    const { events } = this.world.context;
    const place = { provider: 'p', pool: 'main', label };
    const launch = { ...place, request: '200-0000000001' as RequestId, need: { instances: 1 } };
    events.emit('launchBegun', { launch });
    if (error) events.emit('launchProgressed', { launch, step: { what: 'failed', error } });
    events.emit('launchEnded', { launch, state: error ? 'failed' : 'ready' });
  }

  // --- running pools ---------------------------------------------------------------------------------------------

  /** Registers and starts the pools of the configuration. */
  async openPools(lost = new LostRequests(this.world.context, this.ledger)): Promise<PoolSet> {
    const { registry, ledger, providers, steering, views, turns } = this;
    const { context } = this.world;
    const tools = { registry, ledger, providers, steering, views, lost, turns, unlocks: new DelayedUnlocks(context) };
    const pools = new PoolSet(context, tools, false);
    registry.begin([]);
    await this.reload(pools, context.config.now);
    return pools;
  }

  /** Applies another configuration to running pools. */
  async reload(pools: PoolSet, config: Config): Promise<void> {
    const { context, clock } = this.world;
    context.config.now = config;
    pools.prepare(config);
    await clock.run(this.providers.apply(config));
    await clock.run(Promise.all([...this.providers.configured].map((runner) => pools.apply(runner))));
    pools.settleCandidates();
    await this.world.pass(1_000);
  }

  /** Submits a request and advances time. */
  async ask(labels: readonly string[], fields: Partial<RequestFields> = {}, priority = 200): Promise<RequestId> {
    const { other, clock } = this.world;
    const body = encodeRequest(newRequest({ labels, requestor: 'zuul', ...fields }, clock.now()));
    const path = await clock.run(other.create(`${REQUESTS_ROOT}/${priority}-`, body, { sequential: true }));
    await this.world.pass(1_000);
    return path.slice(REQUESTS_ROOT.length + 1) as RequestId;
  }

  /** The request as stored in ZooKeeper. */
  async stored(id: RequestId): Promise<RequestRecord> {
    const { clock, other } = this.world;
    const { data, stat } = await clock.run(other.getData(requestPath(id)));
    const request = decodeRequest(id, data, stat, clock.now());
    if (!request) throw new Error('the request has no body');
    return request;
  }

  async stateOf(id: RequestId): Promise<string> {
    return (await this.stored(id)).state;
  }

  /** Deletes the nodes of a request and advances time. */
  async returnNodes(id: RequestId): Promise<void> {
    const { other } = this.world;
    for (const node of (await this.stored(id)).nodeIds) {
      await this.world.clock.run(other.deleteRecursive(`${NODES_ROOT}/${node}`));
    }
    await this.world.pass(1_000);
  }

  /** Registered pools. */
  async registered(root = `${COMPONENTS_ROOT}/pool`): Promise<Record<string, unknown>[]> {
    const { clock, other } = this.world;
    const names = await clock.run(other.getChildren(root));
    const found = await clock.run(Promise.all(names.map((name) => other.getData(`${root}/${name}`))));
    return found.map(({ data }) => JSON.parse(data.toString()) as Record<string, unknown>);
  }
}
