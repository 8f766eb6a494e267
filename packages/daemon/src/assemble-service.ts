import { dirname, join } from 'node:path';
import { createZooKeeper, type ZooKeeperConnection } from '@nodepool/zk-protocol';
import { ConfigError, type Config } from '@nodepool/core';
import {
  configuredConnection,
  createDriverRegistry,
  findEmbeddedServer,
  loadConfig,
  stateDirCandidates,
  stateDirOf,
  type ConfiguredConnection,
  type DriverRegistry,
} from '@nodepool/core/config';
import type { CommandLine, CommonArguments } from './arguments.js';
import type { EmbeddedZooKeeper } from './embedded-zookeeper.js';
import { logConfigWarnings } from './log-config-warnings.js';
import type { ServiceContext } from './program.js';
import { WEBAPP_NAMES, type WebappKey } from './reloader.js';
import type { DaemonRuntime } from './runtime.js';
import { DaemonService } from './service.js';
import type { ServiceMetrics } from './web/metrics-route.js';

/** Parts that exist once the configuration is read and the connection to ZooKeeper is being established. */
export interface ServiceBase<Args extends CommonArguments> extends ServiceContext<Args> {
  readonly config: Config;
  readonly zk: ZooKeeperConnection;
  readonly registry: DriverRegistry;
}

/** Defines a service. */
export interface ServicePlan<Args extends CommonArguments> {
  readonly commandLine: CommandLine<Args>;
  /** Directory of the program; drivers installed beside it are found. */
  readonly programDir: string;
  /** Configuration key with the address of its web server. */
  readonly webapp: WebappKey;
  /** Without `zookeeper-servers`: run the embedded server, or find the one running on this machine. */
  readonly embedded: 'run' | 'find';
  readonly metrics: ServiceMetrics;
  createRuntime(base: ServiceBase<Args>): DaemonRuntime;
}

/**
 * Reads the configuration, connects to ZooKeeper, and starts the web server. Call {@link DaemonService.start} next.
 * @throws ConfigError, NODEPOOL_WEB_LISTEN, NODEPOOL_STATE_DIR, and ZK_BAD_ARGUMENTS for unusable TLS files
 */
export async function assembleService<Args extends CommonArguments>(
  context: ServiceContext<Args>,
  plan: ServicePlan<Args>,
): Promise<DaemonService> {
  const { args, env, clock, logger, version, hostname, profileDirs } = context;
  const { configFile: file, secureFile, stateDir } = args;
  const registry = createRegistry(file, plan.programDir);
  const use = { ...useOf(plan.webapp, args), clock };
  const load = (signal?: AbortSignal) =>
    loadConfig({ file, secureFile, stateDir, env, drivers: registry, ...use, mode: 'service', signal });
  const config = await load();
  logConfigWarnings(config, logger);
  const isEmbedded = config.zookeeper.servers.length === 0;
  const embedded = isEmbedded && plan.embedded === 'run' ? await startEmbedded(context, config) : undefined;
  const zk = createZooKeeper({
    ...(isEmbedded ? await embeddedConnection(context, config, embedded) : configuredConnection(config.zookeeper)),
    logger: logger.child({}, 'zk.ZooKeeper'),
  });
  const service = new DaemonService({
    ...{ name: plan.commandLine.name, config, zk, embedded, clock, logger, version, hostname, profileDirs },
    runtime: plan.createRuntime({ ...context, config, zk, registry }),
    ...{ metrics: plan.metrics, logFailures: context.logFailures },
    webapp: args.webapp ? plan.webapp : undefined,
    socketDir: stateDirOf({ stateDir, env }),
    loadConfig: load,
    applyConfig: (next) => {
      const { servers } = configuredConnection(next.zookeeper);
      if (!isEmbedded && servers.length > 0) zk.resetServers(servers);
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

/** What a service uses of its configuration. */
function useOf(webapp: keyof typeof WEBAPP_NAMES, args: CommonArguments) {
  return { serves: args.webapp ? WEBAPP_NAMES[webapp] : undefined, imagesOnly: webapp === 'builderWebapp' };
}

/** Searches drivers beside the configuration, then beside the program, then among the global packages. */
function createRegistry(configFile: string, programDir: string): DriverRegistry {
  return createDriverRegistry({
    searchFrom: [dirname(configFile), programDir],
    globalDir: join(dirname(process.execPath), '..', 'lib', 'node_modules'),
  });
}

async function startEmbedded(
  { args, env, logger }: ServiceContext<CommonArguments>,
  config: Config,
): Promise<EmbeddedZooKeeper> {
  const { startEmbeddedZooKeeper } = await import('./embedded-zookeeper.js');
  const stateDir = stateDirOf({ stateDir: args.stateDir, env });
  return startEmbeddedZooKeeper(stateDir, config.zookeeper, logger.child({}, 'zk'));
}

/** @throws ConfigError if no embedded server is running on this machine */
async function embeddedConnection(
  { args, env }: ServiceContext<CommonArguments>,
  config: Config,
  own: EmbeddedZooKeeper | undefined,
): Promise<ConfiguredConnection> {
  const configured = configuredConnection(config.zookeeper);
  if (own) return { ...configured, ...own.connection };
  const directories = stateDirCandidates({ stateDir: args.stateDir, env });
  const found = await findEmbeddedServer(directories);
  if (found) return { ...configured, ...found };
  throw new ConfigError(
    `${config.file} names no zookeeper-servers, and no launcher of this machine runs an embedded server ` +
      `(looked in ${directories.join(', ')}): start nodepool-launcher first, or name its --state-dir`,
  );
}
