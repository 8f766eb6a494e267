import { homedir } from 'node:os';
import { createZooKeeper } from '@nodepool/zk-protocol';
import type { ZooKeeper } from '@nodepool/zk-protocol';
import type { Config } from '@nodepool/core';
import { configuredConnection } from '@nodepool/core/connection';
import type { ConfiguredConnection } from '@nodepool/core/connection';
import { isProcessRunning, readEmbeddedServerInfo, stateDirCandidates } from '@nodepool/core/state-dir';
import { loadConnectionConfig } from './config.js';
import type { CliContext } from './context.js';
import { CliError } from './errors.js';

/** The address of the embedded server of this machine. */
function findEmbeddedServer({ options, env }: CliContext): { host: string; port: number } {
  const surroundings = { env, uid: process.getuid?.(), home: homedir() };
  const directories = options.stateDir === undefined ? stateDirCandidates(surroundings) : [options.stateDir];
  const found = directories.map((directory) => readEmbeddedServerInfo(directory)).filter((info) => info !== undefined);
  const running = found.find(({ pid }) => isProcessRunning(pid));
  if (running) return running;
  throw new CliError(
    `No zookeeper-servers are configured, and no launcher of this machine runs an embedded server ` +
      `(looked in ${directories.join(', ')}): start nodepool-launcher, or name its --state-dir`,
  );
}

/** The configuration without its providers; a missing default file stands for nothing configured. @throws ConfigError */
export async function loadIfPresent(context: CliContext): Promise<Config | undefined> {
  const { access } = await import('node:fs/promises');
  try {
    await access(context.options.configFile);
  } catch (error) {
    if (!context.options.configFileNamed && (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
  }
  return loadConnectionConfig(context);
}

async function findServers(context: CliContext): Promise<ConfiguredConnection> {
  const config = await loadIfPresent(context);
  const configured = config && configuredConnection(config.zookeeper);
  if (configured && configured.servers.length > 0) return configured;
  return {
    servers: [findEmbeddedServer(context)],
    tls: undefined,
    sessionTimeoutMs: configured?.sessionTimeoutMs ?? 10_000,
  };
}

function describeServers({ servers, tls }: ConfiguredConnection): string {
  const addresses = servers.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`);
  return `${addresses.join(', ')}${tls ? ' (TLS)' : ''}`;
}

/**
 * Connects to the ZooKeeper of the configuration, or to the embedded server of this machine.
 * @throws CliError when nobody answers in time
 */
export async function connectZooKeeper(context: CliContext, signal?: AbortSignal): Promise<ZooKeeper> {
  const target = await findServers(context);
  const zk = createZooKeeper({ ...target, logger: context.logger.child({}, 'zk') });
  const timeoutMs = context.options.connectTimeoutMs;
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    await zk.whenConnected(signal ? AbortSignal.any([signal, timeout]) : timeout);
    return zk;
  } catch (error) {
    await zk.close();
    if (!timeout.aborted) throw error;
    const text = `No ZooKeeper server answered within ${timeoutMs / 1000} s: ${describeServers(target)}`;
    throw new CliError(`${text}. Is it running, and do port, TLS and firewall agree? --debug shows each attempt`);
  }
}

/** Runs `use` with a connection that is closed whatever happens. */
export async function withZooKeeper<T>(context: CliContext, use: (zk: ZooKeeper) => Promise<T>): Promise<T> {
  const zk = await connectZooKeeper(context);
  try {
    return await use(zk);
  } finally {
    await zk.close();
  }
}
