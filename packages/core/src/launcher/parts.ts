import {
  createCommitter,
  createComponentCache,
  createControlCache,
  createNodeCache,
  createRequestCache,
  newComponent,
  type CommitTarget,
} from '@nodepool/zk-protocol';
import { FEATURES } from '../features/index.js';
import { LOGGER_NAMES } from '../contract/logger-names.js';
import { imageConditions } from '../images/image-conditions.js';
import { ConfigChanges } from './config-changes.js';
import { LauncherEvents } from './state/events.js';
import { leftProviders } from './conditions/draining-conditions.js';
import { nodeConditions } from './conditions/node-conditions.js';
import { recordConditions } from './conditions/record-conditions.js';
import { requestConditions } from './conditions/request-conditions.js';
import { resourceConditions } from './conditions/resource-conditions.js';
import { servingConditions } from './conditions/serving.js';
import { findConditions } from './find-conditions.js';
import { Ledger } from './ledger/ledger.js';
import { IdleNodes } from './nodes/idle-nodes.js';
import { OrphanedZnodes } from './nodes/orphaned-znodes.js';
import { Reaper } from './nodes/reaper.js';
import type { Engine, Feature } from './nodes/feature.js';
import type { LauncherOptions } from './options.js';
import { Steered } from './plan/steering.js';
import { PoolSet } from './pools/pool-set.js';
import { ProviderSet } from './providers/provider-set.js';
import { GoneLaunchers } from './registry/gone-launchers.js';
import { MissingBuilder } from './registry/missing-builder.js';
import { PoolRegistry } from './registry/pool-registry.js';
import { Registration, shortName } from './registry/registration.js';
import { DelayedUnlocks } from './requests/delayed-unlocks.js';
import { LaunchTurns } from './requests/launch-turns.js';
import { LostRequests } from './requests/lost-requests.js';
import { loggingAs, type Context } from './state/context.js';
import { ControlMirror } from './state/controls.js';
import { ImageMirror } from './state/image-mirror.js';
import { LifeCycle } from './state/life-cycle.js';
import { Mirror } from './state/mirror.js';
import type { Part } from './state/part.js';
import { ServerClock } from './state/server-clock.js';
import { PoolViews } from './view/pool-views.js';

/** All parts of a launcher in one list, and by name those that answer questions. */
export type LauncherParts = ReturnType<typeof makeParts>;

/** In one piece: constructs the parts of a launcher in order, each from those above it. Starts nothing. */
export function makeParts(options: LauncherOptions) {
  const { zk, clock, hostname, version, config, announceLegacy = false, random = Math.random } = options;
  const logger = options.logger.child({}, LOGGER_NAMES.launcher);
  const common = { zk, clock, logger };

  // state: records in ZooKeeper, the configuration
  const nodes = createNodeCache(common);
  const requests = createRequestCache(common);
  const components = createComponentCache(common);
  const controlCache = createControlCache(common);
  const caches: (Part & CommitTarget)[] = [nodes, requests, components];
  const { events = new LauncherEvents() } = options;
  const mirror = new Mirror(nodes, requests, events);
  const serverClock = new ServerClock(zk, clock);
  const context: Context = {
    ...common,
    ...{ serverClock, hostname, version, random, events, metrics: options.metrics, mirror },
    config: { now: config },
    life: new LifeCycle(zk, [nodes, requests], clock),
    committer: createCommitter(zk, caches),
    controls: new ControlMirror(controlCache, { clock: serverClock, events }),
  };
  const cleanup = loggingAs(context, LOGGER_NAMES.cleanup);
  const images = new ImageMirror(context);

  // registry, providers, ledger
  const steering = new Steered();
  const registry = new PoolRegistry(context, components);
  const providers = new ProviderSet(context, options.registry, images, steering, registry);
  const ledger = new Ledger(context, providers);
  const views = new PoolViews(context, steering, registry);

  // requests
  const unlocks = new DelayedUnlocks(cleanup);
  const lost = new LostRequests(cleanup, ledger);
  const turns = new LaunchTurns(context);
  const tools = { registry, unlocks, turns, lost, ledger, providers, steering, views };
  const pools = new PoolSet(context, tools, announceLegacy);

  // nodes
  const reaper = new Reaper(loggingAs(context, LOGGER_NAMES.deletedNodes), providers, registry.registered);
  const features: Feature[] = [];
  const idle = new IdleNodes(cleanup);
  idle.add((node) => providers.judge(node));
  const engine: Engine = {
    ...{ context: cleanup, registry, providers, ledger, views, lost, pools },
    ...{ reaper, idle, features, serverClock, images },
    get freeNodes() {
      return features.find((feature) => feature.freeNodes)?.freeNodes;
    },
  };
  features.push(...Object.values(options.features ?? FEATURES).map((make) => make(engine)));
  caches.push(...features.flatMap((feature) => feature.caches ?? []));
  steering.by = features.find((feature) => feature.steering)?.steering;
  const orphanedZnodes = new OrphanedZnodes(cleanup);

  // registration, conditions, metrics
  const kind = { kind: 'launcher', hostname: shortName(hostname), version } as const;
  const registration = new Registration(zk, newComponent({ ...kind, state: 'stopped' }), logger);
  const gone = new GoneLaunchers(context, components);
  const parts: Part[] = [];
  const conditions = findConditions({ context, components, registration, parts });
  const serving = { context, providers, pools, registry, steering, others: conditions };
  const metrics = options.metrics?.attach({
    ...{ zk, nodes, requests, images, registry },
    onPoolChange: (listener) => events.on('poolChanged', listener),
    config: () => context.config.now,
    pools: () => pools.loads(),
    controls: () => context.controls.inForce,
    failingDeletions: () => reaper.failing().length,
    failingProviders: () => steering.failingProviders(),
  });
  if (options.metrics) events.on('requestEnded', options.metrics.requestEnded.bind(options.metrics));
  parts.push(
    ...caches,
    ...[controlCache, mirror, context.controls, images],
    {
      sessionRenewed: () => registration.register(),
      drains: 'the registration of the launcher',
      drain: () => registration.remove(),
    },
    ...[gone, registry, providers, ledger, unlocks, reaper, lost, turns, pools],
    ...[...features, idle, orphanedZnodes],
    {
      reconsider: (occasion) => {
        if (occasion === 'reload') metrics?.configChanged();
        else metrics?.start(); // idempotent
      },
      stop: () => metrics?.stop(),
    },
    new MissingBuilder(context, components, images),
    { conditions: (nowMs) => servingConditions(serving, nowMs) },
    { conditions: () => leftProviders(serving) },
    { conditions: () => resourceConditions(providers) },
    { conditions: (nowMs) => nodeConditions(nodes, { providers, reaper, nowMs }) },
    { conditions: () => recordConditions(context) },
    {
      conditions: (nowMs) =>
        images.ready ? imageConditions(context.config.now.diskimages.values(), images.images, nowMs) : [],
    },
    { conditions: (nowMs) => requestConditions(requests.values(), nowMs) },
  );
  const changes = new ConfigChanges({ context, pools, providers, parts });
  parts.push(changes);

  return {
    ...{ parts, context, components, registry, registration, providers, pools, images, reaper, steering, features },
    ...{ nodes, requests, serverClock, conditions, freeNodes: engine.freeNodes, changes },
  };
}
