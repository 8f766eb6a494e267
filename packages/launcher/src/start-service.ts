import { join } from 'node:path';
import { FEATURES, Launcher, leasesOf } from '@nodepool/core/launcher';
import { ensureTokenKey, stateDirOf } from '@nodepool/core/config';
import type { Config, FoundCondition, Logger } from '@nodepool/core';
import type { ConditionSource } from '@nodepool/core/service';
import {
  assembleService,
  createImageApi,
  createServiceMetrics,
  joinParts,
  type DaemonRuntime,
  type DaemonService,
  type RouteTable,
  type ServiceContext,
  type ShownConditions,
} from '@nodepool/daemon';
import { History, standbyTargets } from '@nodepool/history';
import type { Clock, ZooKeeper } from '@nodepool/zk-protocol';
import { COMMAND_LINE, type LauncherArguments } from './arguments.js';
import { LeaseCertificates } from './certificates/lease-certificates.js';
import { DiskSpace } from './state/disk-space.js';
import { launcherHealth } from './state/health.js';
import { dumpState } from './state/state-dump.js';
import { startTraces, type Traces } from './traces/traces.js';
import { ActivityLog } from './web/api/activity-log.js';
import { followChanges } from './web/api/changes.js';
import { createLauncherApi } from './web/api/operations.js';
import { launcherOverview } from './web/api/overview.js';
import type { ApiPart, LauncherApiSources, Lending } from './web/api/sources.js';
import { standbyApi } from './web/api/standby-operation.js';
import { TokenTrust } from './web/api/token-trust.js';
import { createExplainRoutes } from './web/explain-routes.js';
import { createListingRoutes } from './web/listing-routes.js';

/** Parts and settings of a launcher process. */
export interface LauncherContext {
  readonly zk: ZooKeeper;
  readonly clock: Clock;
  readonly hostname: string;
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly logger: Logger;
  readonly activity: ActivityLog;
  readonly history: History;
  readonly more: readonly ApiPart[];
  /** Free space of the state directory. */
  readonly space: DiskSpace;
  /** The key for tokens in the embedded database, made on the first call; `undefined`: the database is another one. */
  readonly ownTokenKey: () => Promise<string | undefined>;
}

/**
 * Connects a launcher to the history, traces, `/healthz`, listings and API of its process. In one piece: its parts share the
 * configuration in force.
 */
export function launcherRuntime(runtime: Launcher, context: LauncherContext): DaemonRuntime {
  const config = () => runtime.config;
  let webAddress: string | undefined;
  const traces = tracesOf(runtime, context);
  const lending = lendingOf(runtime, context, config);
  const sources = { ...context, runtime, lending, config, webUrl: () => webAddress };
  return {
    async start(webUrl) {
      webAddress = webUrl;
      await lending?.trust.start(); // before tokens are read
      traces.start();
      context.history.follow(runtime);
      await runtime.start(webUrl);
    },
    async reconfigure(next) {
      await runtime.reconfigure(next);
      await context.history.configure(next.history);
    },
    get notReady() {
      return runtime.notReady;
    },
    drain: (deadlineMs) => runtime.drain(deadlineMs),
    endOrders: () => runtime.endOrders(),
    async stop() {
      lending?.certificates.close();
      await runtime.stop();
      await context.history.close();
      await traces.close();
    },
    startedFields: () => ({ providers: [...config().providers.keys()], nodes: runtime.nodes.size }),
    conditions: withOwn(runtime.conditions, [
      ...[context.history, context.space],
      ...(lending ? [lending.trust, lending.certificates] : []),
    ]),
    health: () => ({ ...launcherHealth(runtime), history: { dropped_lines: context.history.dropped } }),
    dump: (nowMs) => dumpState(runtime, nowMs),
    routes: (shown) => routesOf(runtime, shown, context.clock),
    api: (conditions) => apiOf({ ...sources, conditions }),
  };
}

function lendingOf(runtime: Launcher, context: LauncherContext, config: () => Config): Lending | undefined {
  const leases = leasesOf(runtime);
  if (!leases) return undefined;
  const { logger, env } = context;
  const certificates = new LeaseCertificates({
    ...{ leases, pools: () => runtime.components, config },
    ...{ logger: logger.child({}, 'nodepool.Leases'), path: env['PATH'] },
  });
  return { leases, trust: new TokenTrust({ ...context, tokens: leases.tokens, config }), certificates };
}

/** Adds conditions that others than the launcher find. */
function withOwn(
  conditions: ConditionSource,
  own: readonly { conditions(): readonly FoundCondition[] }[],
): ConditionSource {
  return {
    find: () => [...conditions.find(), ...own.flatMap((each) => each.conditions())],
    publish: (all) => conditions.publish(all),
    get ofOthers() {
      return conditions.ofOthers;
    },
    onConcern: (listener) => conditions.onConcern(listener),
  };
}

function routesOf(runtime: Launcher, shown: ShownConditions, clock: Clock): RouteTable {
  return new Map([...createListingRoutes(runtime, clock), ...createExplainRoutes(runtime, shown, clock)]);
}

function apiOf(sources: LauncherApiSources): ReturnType<DaemonRuntime['api']> {
  const { zk, config, runtime } = sources;
  return {
    ...joinParts(createLauncherApi(sources), createImageApi({ zk, config, images: () => runtime.images })),
    overview: () => launcherOverview(sources),
    subscribe: (listener) => followChanges(sources, listener),
  };
}

/** Sends traces from the start of the launcher until they are closed. */
function tracesOf(runtime: Launcher, context: LauncherContext) {
  const { clock, logger } = context;
  let traces: Promise<Traces | undefined> | undefined;
  return {
    start(): void {
      traces ??= startTraces({ ...context, runtime, now: () => clock.now() });
      traces.catch((error: unknown) => logger.error('Failed to start tracing', { error }));
    },
    async close(): Promise<void> {
      await (await traces?.catch(() => undefined))?.close();
    },
  };
}

type HistorySources = Pick<LauncherContext, 'clock' | 'logger' | 'hostname' | 'activity' | 'env'> & {
  readonly config: Config;
  readonly args: Pick<LauncherArguments, 'stateDir'>;
};

function startHistory({ clock, logger, hostname, activity, env, config, args }: HistorySources): History {
  const stateDir = stateDirOf({ stateDir: args.stateDir, env });
  return new History({
    ...{ clock, logger: logger.child({}, 'history'), hostname, settings: config.history, metrics: activity },
    defaultDirectory: join(stateDir, 'history'),
  });
}

/**
 * Reads the configuration, connects to ZooKeeper, and starts the web server. Call `start` of the result next.
 * @throws ConfigError, NODEPOOL_WEB_LISTEN, NODEPOOL_STATE_DIR, NODEPOOL_STATSD, and ZK_BAD_ARGUMENTS for unusable TLS files
 */
export function createService(context: ServiceContext<LauncherArguments>): Promise<DaemonService> {
  const metrics = createServiceMetrics(context);
  return assembleService(context, {
    commandLine: COMMAND_LINE,
    programDir: import.meta.dirname,
    webapp: 'webapp',
    embedded: 'run',
    metrics,
    createRuntime({ zk, config, registry, logger, clock, hostname, version, args, env }) {
      const activity = new ActivityLog(metrics, clock);
      const history = startHistory({ config, clock, logger, hostname, activity, args, env });
      const stateDir = stateDirOf({ stateDir: args.stateDir, env });
      const path = join(stateDir, 'standby-demand.jsonl');
      const standby = standbyTargets({ logger: logger.child({}, 'standby'), path });
      const space = new DiskSpace(stateDir, hostname);
      const isEmbedded = config.zookeeper.servers.length === 0;
      const ownTokenKey = () => (isEmbedded ? ensureTokenKey(stateDir) : Promise.resolve(undefined));
      const options = { ...{ zk, config, registry, logger, clock, hostname, version, metrics: activity } };
      const features = { ...FEATURES, 'standby-levels': standby.make };
      const launcher = new Launcher({ ...options, features, announceLegacy: args.announceLegacy });
      const own = { activity, history, more: [standbyApi(standby.curves)], space, ownTokenKey };
      return launcherRuntime(launcher, { zk, clock, hostname, version, env, logger, ...own });
    },
  });
}
