import {
  createCommitter,
  createComponentCache,
  createControlCache,
  createNodeCache,
  createRequestCache,
  newComponent,
  type NodeCache,
  type RequestCache,
} from '@nodepool/zk-protocol';
import { LOGGER_NAMES } from '../contract/logger-names.js';
import { ConfigChanges, type ConfiguredParts } from './config-changes.js';
import type { DrainedParts } from './drain.js';
import { LauncherEvents } from './events.js';
import { LauncherConditions, type AskedParts } from './find-conditions.js';
import { SteeringSet } from './health/steering-set.js';
import { Ledger } from './ledger/ledger.js';
import { AgeLimits } from './nodes/age-limits.js';
import { DrainedNodes } from './nodes/drained-nodes.js';
import { Leftovers } from './nodes/leftovers.js';
import { Reaper } from './nodes/reaper.js';
import { StandbyProbes } from './nodes/standby-probes.js';
import { MinReady } from './nodes/standby.js';
import type { LauncherOptions } from './options.js';
import { PoolSet } from './pools/pool-set.js';
import { ProviderSet } from './providers/provider-set.js';
import { PoolRegistry } from './registry/pool-registry.js';
import { Registration } from './registry/registration.js';
import { shortName } from './registry/short-name.js';
import { AbandonedRequests } from './requests/abandoned.js';
import { LateUnlocks } from './requests/late-unlocks.js';
import { LostRequests } from './requests/lost-requests.js';
import { ConfigInForce } from './state/config-in-force.js';
import { loggingAs, type Context } from './state/context.js';
import { ControlMirror } from './state/controls.js';
import { ImageMirror } from './state/image-mirror.js';
import { LifeCycle } from './state/life-cycle.js';
import { Mirror } from './state/mirror.js';
import { Sweeps } from './sweeps.js';
import { PoolViews } from './view/pool-views.js';

/** All parts of a launcher. */
export interface LauncherParts extends AskedParts, DrainedParts, ConfiguredParts {
  readonly nodes: NodeCache;
  readonly requests: RequestCache;
  readonly ledger: Ledger;
  readonly lost: LostRequests;
  readonly drainedNodes: DrainedNodes;
  readonly conditions: LauncherConditions;
  readonly changes: ConfigChanges;
  readonly sweeps: Sweeps;
  readonly stopped: readonly { stop(): unknown }[];
  readonly closed: readonly { close(): void }[];
  readonly caches: readonly { start(): Promise<void>; stop(): void }[];
}

/** In one piece: makes the parts of a launcher in their order, each of those above it. Nothing runs yet. */
export function makeParts(options: LauncherOptions): LauncherParts {
  const { zk, clock, hostname, version, config, announceLegacy = false, random = Math.random } = options;
  const logger = options.logger.child({}, LOGGER_NAMES.launcher);
  const common = { zk, clock, logger };

  // what is seen: records in ZooKeeper, the configuration
  const nodes = createNodeCache(common);
  const requests = createRequestCache(common);
  const components = createComponentCache(common);
  const controlCache = createControlCache(common);
  const context: Context = {
    ...{ ...common, hostname, version, random, metrics: options.metrics },
    events: new LauncherEvents(),
    config: new ConfigInForce(config),
    life: new LifeCycle(zk, [nodes, requests]),
    mirror: new Mirror(nodes, requests),
    committer: createCommitter(zk, [nodes, requests, components]),
    controls: new ControlMirror(controlCache, clock),
  };
  const cleanup = loggingAs(context, LOGGER_NAMES.cleanup);
  const images = new ImageMirror(context, nodes);

  // who serves: health, pools of all launchers, providers, what is promised
  const steering = new SteeringSet(context);
  const registry = new PoolRegistry(context, components);
  const providers = new ProviderSet(context, options.registry, images, steering, registry);
  const ledger = new Ledger(context, providers);
  const views = new PoolViews(context, steering, registry);

  // requests
  const unlocks = new LateUnlocks(cleanup);
  const lost = new LostRequests(cleanup, ledger);
  const abandoned = new AbandonedRequests(cleanup, ledger, lost);
  const tools = { registry, unlocks, abandoned, ledger, providers, steering, views };
  const pools = new PoolSet(context, tools, announceLegacy);

  // nodes
  const reaper = new Reaper(loggingAs(context, LOGGER_NAMES.deletedNodes), providers, registry.shared);
  const ages = new AgeLimits(cleanup, providers);
  const drainedNodes = new DrainedNodes(context, providers);
  const minReady = new MinReady(context, views);
  const probes = new StandbyProbes(context, views, minReady);
  const leftovers = new Leftovers(cleanup);

  // the launcher as others see it
  const kind = { kind: 'launcher', hostname: shortName(hostname), version } as const;
  const registration = new Registration(zk, newComponent({ ...kind, state: 'stopped' }), logger);
  const asked = { context, images, components, registry, registration, steering, providers, pools, reaper };
  const conditions = new LauncherConditions(asked);
  const metrics = options.metrics?.attach({
    ...{ zk, nodes, requests, images, registry },
    config: () => context.config.now,
    pools: () => pools.loads(),
    controls: () => context.controls.inForce,
    failingDeletions: () => reaper.failing().length,
    failingProviders: () => steering.failingProviders(),
  });
  if (options.metrics) context.events.on('requestEnded', options.metrics.requestEnded.bind(options.metrics));

  // what makes all of it change
  const sweeps = new Sweeps({ context, providers, reaper, minReady, pools, lost, leftovers });
  const changes = new ConfigChanges({ context, pools, providers, reaper, ages, minReady, metrics });

  return {
    ...{
      ...asked,
      nodes,
      requests,
      conditions,
      unlocks,
      ledger,
      lost,
      ages,
      drainedNodes,
      minReady,
      changes,
      sweeps,
      metrics,
    },
    stopped: [reaper, providers, sweeps, minReady, probes, ages, drainedNodes, lost, unlocks],
    closed: [steering, context.controls, registry, ledger, context.mirror],
    caches: [nodes, requests, components, controlCache, images],
  };
}
