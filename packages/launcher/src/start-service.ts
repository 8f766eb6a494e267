import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createDriverRegistry, Launcher, loadConfig } from '@nodepool/core';
import type { Config, DriverRegistry, Logger } from '@nodepool/core';
import { configuredConnection } from '@nodepool/core/connection';
import { Metrics } from '@nodepool/core/metrics';
import { defaultStateDir } from '@nodepool/core/state-dir';
import { createZooKeeper } from '@nodepool/zk-protocol';
import type { Clock, ZooKeeperConnection } from '@nodepool/zk-protocol';
import type { LauncherArguments } from './arguments.js';
import type { EmbeddedZooKeeper } from './embedded-zookeeper.js';
import { profileDirs } from './logging.js';
import { createProcessUsage } from './process-usage.js';
import { LauncherService } from './service.js';
import { statsdTarget } from './statsd-target.js';

/** What the process gives to its service. */
export interface ServiceSurroundings {
  readonly args: LauncherArguments;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly version: string;
  readonly hostname: string;
}

/** Drivers beside the configuration first, then beside this program, then the global ones. */
function createRegistry(configFile: string): DriverRegistry {
  return createDriverRegistry({
    searchFrom: [dirname(configFile), import.meta.dirname],
    globalDir: join(dirname(process.execPath), '..', 'lib', 'node_modules'),
  });
}

async function startEmbedded(
  surroundings: ServiceSurroundings,
  config: Config,
): Promise<EmbeddedZooKeeper | undefined> {
  if (config.zookeeper.servers.length > 0) return undefined;
  const { args, env, logger } = surroundings;
  const { startEmbeddedZooKeeper } = await import('./embedded-zookeeper.js');
  const stateDir = args.stateDir ?? defaultStateDir({ env, uid: process.getuid?.(), home: homedir() });
  return startEmbeddedZooKeeper(stateDir, logger.child({}, 'zk'));
}

function connectZooKeeper(
  config: Config,
  embedded: EmbeddedZooKeeper | undefined,
  logger: Logger,
): ZooKeeperConnection {
  const configured = configuredConnection(config.zookeeper);
  const servers = embedded ? [{ host: embedded.host, port: embedded.port }] : configured.servers;
  return createZooKeeper({ ...configured, servers, logger: logger.child({}, 'zk.ZooKeeper') });
}

function logWarnings(config: Config, logger: Logger): void {
  for (const { message, path, position } of config.warnings) {
    logger.warn('Configuration warning', { path, problem: message, line: position?.line });
  }
}

function createMetrics({ env, clock, logger, hostname, version }: ServiceSurroundings): Metrics {
  return new Metrics({
    ...{ clock, hostname, version },
    logger: logger.child({}, 'stats'),
    pid: process.pid,
    statsd: statsdTarget(env),
    processUsage: createProcessUsage(),
  });
}

/**
 * Reads the configuration, connects, and begins to answer the web. Call {@link LauncherService.start} next.
 * @throws ConfigError, NODEPOOL_WEB_LISTEN, NODEPOOL_STATE_DIR, NODEPOOL_STATSD, and ZK_BAD_ARGUMENTS for unusable TLS files
 */
export async function createService(surroundings: ServiceSurroundings): Promise<LauncherService> {
  const { args, env, clock, logger, version, hostname } = surroundings;
  const metrics = createMetrics(surroundings);
  const registry = createRegistry(args.configFile);
  const { configFile: file, secureFile } = args;
  const load = (signal?: AbortSignal) =>
    loadConfig({ file, secureFile, env, drivers: registry, mode: 'service', clock, signal });
  const config = await load();
  logWarnings(config, logger);
  const embedded = await startEmbedded(surroundings, config);
  const zk = connectZooKeeper(config, embedded, logger);
  const service = new LauncherService({
    config,
    zk,
    embedded,
    runtime: new Launcher({
      ...{ zk, config, registry, logger, clock, hostname, version, metrics },
      announceLegacy: args.announceLegacy,
    }),
    metrics,
    clock,
    logger,
    version,
    hostname,
    webapp: args.webapp,
    profileDirs: profileDirs(args, tmpdir()),
    loadConfig: load,
    applyConfig: (next) => {
      const { servers } = configuredConnection(next.zookeeper);
      if (!embedded && servers.length > 0) zk.resetServers(servers);
      return Promise.resolve();
    },
  });
  try {
    await service.listen();
    return service;
  } catch (error) {
    await zk.close();
    await embedded?.close();
    throw error;
  }
}
