import {
  createCommitter,
  createComponentCache,
  createControlCache,
  createNodeCache,
  createRequestCache,
  newComponent,
  type ComponentCache,
  type ComponentRecord,
  type ControlCache,
  type NodeCache,
  type RequestCache,
} from '@nodepool/zk-protocol';
import { LOGGER_NAMES } from '../contract/logger-names.js';
import type { MetricsAttachment } from '../metrics/types.js';
import { Concerns } from './concerns.js';
import { ConfigChanges } from './config-changes.js';
import { ConfigInForce } from './config-in-force.js';
import { LauncherEvents } from './events.js';
import { LifeCycle } from './life-cycle.js';
import { ControlMirror } from './mirror/controls.js';
import { ImageMirror } from './mirror/image-mirror.js';
import { Mirror } from './mirror/mirror.js';
import type { NodeProviders, NodeRemoval } from './mirror/ports.js';
import { loggingAs, type Services } from './mirror/services.js';
import { AgeLimits } from './nodes/age-limits.js';
import { DrainedNodes } from './nodes/drained-nodes.js';
import { expireNode, withdrawNode } from './nodes/expire-node.js';
import { Leftovers } from './nodes/leftovers.js';
import { Reaper } from './nodes/reaper.js';
import type { LauncherOptions } from './options.js';
import { PoolCandidates } from './pools/pool-candidates.js';
import { PoolRegistry } from './pools/pool-registry.js';
import { PoolSet } from './pools/pool-set.js';
import { Registration } from './pools/registration.js';
import { RegistryOutlook } from './pools/registry-outlook.js';
import { SharedPools } from './pools/shared-pools.js';
import { shortName } from './pools/short-name.js';
import { needOfNode, ProviderSet } from './providers/provider-set.js';
import { AbandonedRequests } from './requests/abandoned-requests.js';
import { LateUnlocks } from './requests/late-unlocks.js';
import { LostRequests } from './requests/lost-requests.js';
import { MinReady } from './standby/min-ready.js';
import { StandbyProbes } from './standby/standby-probes.js';
import { SteeringSet } from './steering/steering-set.js';
import { Sweeps } from './sweeps.js';

/** What a launcher sees: records in ZooKeeper, and its own configuration. */
interface SeeingParts {
  readonly nodes: NodeCache;
  readonly requests: RequestCache;
  readonly components: ComponentCache;
  readonly controlCache: ControlCache;
  readonly controls: ControlMirror;
  readonly images: ImageMirror;
  readonly services: Services;
  readonly inForce: ConfigInForce;
  readonly life: LifeCycle;
  readonly concerns: Concerns;
}

/** How a launcher is seen by others, and they by it. */
interface RegistryParts {
  readonly registry: PoolRegistry;
  readonly outlook: RegistryOutlook;
  readonly candidates: PoolCandidates;
  readonly shared: SharedPools;
  readonly registration: Registration<ComponentRecord>;
}

/** What serves requests. */
interface ServingParts {
  readonly steering: SteeringSet;
  readonly providers: ProviderSet;
  readonly pools: PoolSet;
  readonly lost: LostRequests;
  readonly abandoned: AbandonedRequests;
  readonly lateUnlocks: LateUnlocks;
}

/** What looks after nodes. */
interface NodeParts {
  readonly reaper: Reaper;
  readonly ages: AgeLimits;
  readonly drained: DrainedNodes;
  readonly minReady: MinReady;
  readonly probes: StandbyProbes;
  readonly leftovers: Leftovers;
}

/** What makes all of it change: a new configuration, and time. */
interface ChangingParts {
  readonly changes: ConfigChanges;
  readonly sweeps: Sweeps;
  readonly metrics: MetricsAttachment | undefined;
}

/** All parts of a launcher. */
export interface LauncherParts extends SeeingParts, RegistryParts, ServingParts, NodeParts, ChangingParts {}

/** Makes the parts of a launcher and wires them. Nothing runs yet. */
export function assemble(options: LauncherOptions): LauncherParts {
  // Parts know one another through ports, which look here when they are called: by then all parts are there.
  const parts = {} as LauncherParts;
  const add = <Some extends object>(some: Some) => Object.assign(parts, some);
  add(makeSeeing(options, parts));
  add(makeRegistry(options, parts));
  add(makeServing(options, parts));
  add(makeNodes(parts));
  add(makeChanging(options, parts));
  return parts;
}

function makeSeeing(options: LauncherOptions, parts: LauncherParts): SeeingParts {
  const { zk, clock, hostname, metrics, random = Math.random } = options;
  const logger = options.logger.child({}, LOGGER_NAMES.launcher);
  const nodes = createNodeCache({ zk, clock, logger });
  const requests = createRequestCache({ zk, clock, logger });
  const components = createComponentCache({ zk, clock, logger });
  const controlCache = createControlCache({ zk, clock, logger });
  const controls = new ControlMirror(controlCache, clock);
  const mirror = new Mirror(nodes, requests, (node) => needOfNode(parts.providers.runnerOf(node), node));
  const committer = createCommitter(zk, [nodes, requests, components]);
  const images = new ImageMirror({
    ...{ zk, clock, logger },
    isBuilding: (node) => nodes.get(node)?.state === 'building',
    changed: (provider) => {
      parts.pools.capacityChanged(provider);
      parts.minReady.checkAll();
    },
  });
  const events = new LauncherEvents();
  if (metrics) events.on('requestEnded', (event) => metrics.requestEnded(event));
  return {
    ...{ nodes, requests, components, controlCache, controls, images },
    services: { zk, committer, mirror, controls, clock, logger, hostname, random, metrics, events },
    inForce: new ConfigInForce(options.config),
    life: new LifeCycle(zk, [nodes, requests]),
    concerns: new Concerns(),
  };
}

function makeRegistry({ zk, clock, hostname, version }: LauncherOptions, parts: LauncherParts): RegistryParts {
  const { components, nodes, inForce, services } = parts;
  const registry = new PoolRegistry(components);
  const outlook = new RegistryOutlook({
    ...{ clock, components, registry, nodes },
    isOwn: (id) => parts.candidates.isOwn(id),
    isConfigured: (provider) => inForce.config().providers.has(provider),
    changed: () => parts.pools.reconsiderAll(),
  });
  const candidates = new PoolCandidates({ components, hostname, version, registry, outlook });
  const shared = new SharedPools({ registry, candidates });
  const kind = { kind: 'launcher', hostname: shortName(hostname), version } as const;
  const registration = new Registration(zk, newComponent({ ...kind, state: 'stopped' }), services.logger);
  return { registry, outlook, candidates, shared, registration };
}

/** In one piece: the parts know each other, so they are made side by side. */
function makeServing(options: LauncherOptions, parts: LauncherParts): ServingParts {
  const { services, life, inForce, registry, candidates, shared, images } = parts;
  const removal = nodeRemoval(services);
  const cleanup = loggingAs(services, LOGGER_NAMES.cleanup);
  const { disabledLabels, tenantLimit, config } = inForce;
  const lateUnlocks = new LateUnlocks(cleanup);
  const steering = new SteeringSet({
    ...{ clock: services.clock, logger: services.logger, config },
    changed: (provider) => {
      parts.pools.healthChanged(provider);
      parts.concerns.tell();
      queueMicrotask(() => parts.probes.check(provider)); // what waits for the provider may be the probe
    },
    settled: (provider) => queueMicrotask(() => parts.probes.check(provider)),
  });
  const pools = new PoolSet(services, {
    steering: (provider) => steering.of(provider),
    ...{ version: options.version, announceLegacy: options.announceLegacy ?? false },
    ...{ registry, candidates, shared, config, disabledLabels, tenantLimit, isActive: life.isActive, ...removal },
    unlockLater: (entry) => lateUnlocks.keep(entry),
    isRecovering: (id) => parts.abandoned.isRecovering(id),
    onAbandoned: ({ id }, epoch) => parts.abandoned.recover(id, epoch),
    ended: (provider) => parts.providers.poolEnded(provider),
  });
  const providers = new ProviderSet(services, options.registry, {
    ...{ images, config, ...removal },
    databaseId: () => life.databaseId,
    capacityChanged: (provider, pool) => pools.capacityChanged(provider, pool),
    withdrawNode: (provider, id, why) => withdrawNode(services, provider, id, why),
    ...cloudsIn(steering),
    providerStarted: ({ name }) => {
      pools.capacityChanged(name);
      parts.minReady.checkAll();
      parts.concerns.tell();
    },
    isWorkedFor: (name) => pools.isWorkedFor(name),
    isServedElsewhere: (name) => registry.pools.some((pool) => pool.providerName === name),
    restart: (name) => void parts.changes.restartProvider(name),
  });
  const lost = new LostRequests(cleanup, (id) => pools.handles(id));
  const abandoned = new AbandonedRequests(cleanup, {
    signal: life.signal,
    isOurs: (id) => pools.handles(id),
    reset: (id) => lost.check(id),
    recovered: (id) => pools.lookAgain(id),
  });
  return { steering, providers, pools, lost, abandoned, lateUnlocks };
}

/** What providers tell of their clouds, and what they ask about them. */
function cloudsIn(steering: SteeringSet) {
  return {
    avoidsZone: (provider: string, zone: string, label: string) =>
      steering.of(provider)?.avoidsZone(zone, label) ?? false,
    apiAnswered: (provider: string, error: Error | undefined) => steering.of(provider)?.apiAnswered(error),
  };
}

function makeNodes({ services, life, inForce, shared, providers, pools }: LauncherParts): NodeParts {
  const { isActive, isServing } = life;
  const { config } = inForce;
  const nodeProviders: NodeProviders = { providerOf: (node) => providers.providerOf(node) };
  const cleanup = loggingAs(services, LOGGER_NAMES.cleanup);
  const minReady = new MinReady(services, {
    ...{ config, isActive: isServing },
    canLaunch: (label) => pools.canLaunch(label),
    isFirst: (label) => pools.isFirstFor(label),
  });
  return {
    reaper: new Reaper(loggingAs(services, LOGGER_NAMES.deletedNodes), {
      ...{ isActive, ...nodeProviders },
      isOthersFirst: (node) => shared.isOthersFirst(node),
    }),
    ages: new AgeLimits(cleanup, { config, isActive, ...nodeProviders }),
    drained: new DrainedNodes(cleanup, {
      launches: (node) => isActive() && providers.runnerOf(node)?.launches === true,
      poolOf: (node) => providers.runnerOf(node)?.config.pools.get(node.pool ?? ''),
      ...nodeRemoval(services),
    }),
    minReady,
    probes: new StandbyProbes(services, {
      isActive: isServing,
      labelsToProbe: (provider) => pools.labelsToProbe(provider),
      isMissing: (label) => minReady.isMissing(label),
    }),
    leftovers: new Leftovers(cleanup),
  };
}

function makeChanging(options: LauncherOptions, parts: LauncherParts): ChangingParts {
  const { services, nodes, requests, controls, images, registry, inForce, pools, reaper, steering } = parts;
  return {
    changes: new ConfigChanges(() => ({ ...parts, logger: services.logger })),
    sweeps: new Sweeps(parts),
    metrics: options.metrics?.attach({
      ...{ zk: options.zk, nodes, requests, images, registry, config: inForce.config },
      pools: () => pools.loads(),
      controls: () => controls.inForce,
      failingDeletions: () => reaper.failing().length,
      failingProviders: () => steering.failingProviders(),
    }),
  };
}

function nodeRemoval(services: Services): NodeRemoval {
  return {
    releaseNode: (node, why) =>
      void expireNode(services, node, why).catch((error: unknown) =>
        services.logger.warn('Could not delete an unused node', { nodeId: node.id, error }),
      ),
  };
}
