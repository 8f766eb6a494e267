import { Launcher } from '@nodepool/core/launcher';
import {
  assembleService,
  createServiceMetrics,
  type DaemonRuntime,
  type DaemonService,
  type ServiceSurroundings,
} from '@nodepool/daemon';
import type { Clock } from '@nodepool/zk-protocol';
import { COMMAND_LINE, type LauncherArguments } from './arguments.js';
import { launcherHealth } from './state/health.js';
import type { LauncherRuntime } from './state/runtime.js';
import { dumpState } from './state/state-dump.js';
import { createExplainRoutes } from './web/explain-routes.js';
import { createListingRoutes } from './web/listing-routes.js';

/** The launcher as a service: what it says of itself in log, `/healthz` and listings. */
export function launcherRuntime(
  runtime: LauncherRuntime,
  clock: Clock,
  providers: () => readonly string[],
): DaemonRuntime {
  return {
    start: (webUrl) => runtime.start(webUrl),
    reconfigure: (config) => runtime.reconfigure(config),
    get notReady() {
      return runtime.notReady;
    },
    drain: (deadlineMs) => runtime.drain(deadlineMs),
    stop: () => runtime.stop(),
    startedFields: () => ({ providers: providers(), nodes: runtime.nodes.size }),
    get degraded() {
      return runtime.providerErrors.length > 0;
    },
    health: () => launcherHealth(runtime),
    dump: (nowMs) => dumpState(runtime, nowMs),
    routes: () => new Map([...createListingRoutes(runtime, clock), ...createExplainRoutes(runtime)]),
  };
}

/**
 * Reads the configuration, connects, and begins to answer the web. Call `start` of the result next.
 * @throws ConfigError, NODEPOOL_WEB_LISTEN, NODEPOOL_STATE_DIR, NODEPOOL_STATSD, and ZK_BAD_ARGUMENTS for unusable TLS files
 */
export function createService(surroundings: ServiceSurroundings<LauncherArguments>): Promise<DaemonService> {
  const metrics = createServiceMetrics(surroundings);
  return assembleService(surroundings, {
    name: COMMAND_LINE.name,
    programDir: import.meta.dirname,
    embedded: 'run',
    metrics,
    createRuntime({ zk, config, registry, logger, clock, hostname, version, args }) {
      const options = { ...{ zk, config, registry, logger, clock, hostname, version, metrics } };
      const launcher = new Launcher({ ...options, announceLegacy: args.announceLegacy });
      return launcherRuntime(launcher, clock, () => [...config.providers.keys()]);
    },
  });
}
