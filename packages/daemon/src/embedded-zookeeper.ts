import { existsSync } from 'node:fs';
import { chmod, mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { checkOwnDirectory, checkSharedPlace, isNodepoolError, NodepoolError } from '@nodepool/zk-protocol';
import type { EmbeddedServerOptions } from '@nodepool/zk-protocol/embedded';
import type { Logger } from '@nodepool/core';
import type { EmbeddedAccess, ZooKeeperSettings } from '@nodepool/core/config';
import {
  embeddedConnection,
  type EmbeddedConnection,
  embeddedDataDir,
  embeddedSocket,
  ensureEmbeddedLogin,
  readEmbeddedServerInfo,
  removeEmbeddedLogin,
  removeEmbeddedServerInfo,
  writeEmbeddedServerInfo,
} from '@nodepool/core/config';

/** The embedded ZooKeeper server of this process. */
export interface EmbeddedZooKeeper {
  /** Connection for clients in this process. */
  readonly connection: EmbeddedConnection;
  /** Stops the server. All acknowledged writes are on disk already. */
  close(): Promise<void>;
}

/** Settings of the embedded server. */
export type EmbeddedSettings = Pick<ZooKeeperSettings, 'embeddedAccess' | 'embeddedPort'>;

const REMEDY = 'choose a directory that only this user may write to with --state-dir';
const HOST = '127.0.0.1';
const DEFAULT_PORT = 2181;
const SOCKET_MODES: Readonly<Record<EmbeddedAccess, number>> = { owner: 0o600, group: 0o660, anyone: 0o666 };
/** Permissions of the state directory by allowed users; the umask may reduce others. */
const WAY_IN: Readonly<Record<EmbeddedAccess, number>> = { owner: 0, group: 0o050, anyone: 0o055 };
const ENTER = 0o111;

function isAddressInUse(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return [error, cause].some((each) => each instanceof Error && 'code' in each && each.code === 'EADDRINUSE');
}

/** TCP ports to try, in order; `undefined`: no TCP. */
function portsFor({ embeddedAccess, embeddedPort }: EmbeddedSettings, stateDir: string): (number | undefined)[] {
  if (embeddedPort !== undefined) return [embeddedPort];
  if (embeddedAccess !== 'anyone') return [undefined];
  // the port of the last run first, so that clients find the server again
  const lastPort = readEmbeddedServerInfo(stateDir)?.port ?? DEFAULT_PORT;
  return [...new Set([lastPort, DEFAULT_PORT, 0])];
}

async function startOnFirstFreePort(options: EmbeddedServerOptions, ports: readonly (number | undefined)[]) {
  const { startEmbeddedServer } = await import('@nodepool/zk-protocol/embedded');
  for (const port of ports.slice(0, -1)) {
    try {
      return await startEmbeddedServer({ ...options, port });
    } catch (error) {
      if (!isAddressInUse(error)) throw error;
    }
  }
  return startEmbeddedServer({ ...options, port: ports.at(-1) });
}

/** A service cannot work without its database, so the error ends the process and the supervisor restarts it. */
function endProcess(error: Error): void {
  setImmediate(() => {
    throw error;
  });
}

async function start(stateDir: string, settings: EmbeddedSettings, logger: Logger) {
  const { embeddedAccess: access } = settings;
  const ports = portsFor(settings, stateDir);
  const prepare = async () => {
    // stale information would send tools to a port that another program may use now
    await removeEmbeddedServerInfo(stateDir);
    if (access !== 'anyone' && settings.embeddedPort !== undefined) return ensureEmbeddedLogin(stateDir, access);
    await removeEmbeddedLogin(stateDir);
    return undefined;
  };
  const socket = { path: embeddedSocket(stateDir), mode: SOCKET_MODES[access] };
  const options = {
    dataDir: embeddedDataDir(stateDir),
    login: prepare,
    logger,
    host: HOST,
    socket,
    onLost: endProcess,
  };
  const server = await startOnFirstFreePort(options, ports);
  try {
    const tcp = ports[0] === undefined ? {} : { host: server.host, port: server.port };
    await writeEmbeddedServerInfo(stateDir, { socket: socket.path, ...tcp, pid: process.pid }, access);
    return { server, address: { socket: socket.path, ...tcp } };
  } catch (error) {
    await server.close();
    throw error;
  }
}

/** Creates missing directories with permissions for the allowed users. Leaves existing ones unchanged. */
async function makeStateDir(path: string, access: EmbeddedAccess): Promise<void> {
  if (existsSync(path)) return;
  await makeStateDir(dirname(path), access);
  await mkdir(path, { mode: 0o755 });
  const { mode } = await stat(path);
  if ((mode | WAY_IN[access]) !== mode) await chmod(path, (mode | WAY_IN[access]) & 0o7777);
}

async function warnOfClosedWay(stateDir: string, access: EmbeddedAccess, logger: Logger): Promise<void> {
  const { mode } = await stat(stateDir);
  const needed = WAY_IN[access] & ENTER;
  if ((mode & needed) === needed) return;
  const remedy = `chmod ${access === 'group' ? 'g' : 'a'}+x ${stateDir}`;
  logger.warn('Users of the embedded ZooKeeper server cannot enter the state directory', { stateDir, access, remedy });
}

/**
 * Starts the embedded server with socket and data below `stateDir`, and writes its address there.
 * @throws NODEPOOL_STATE_DIR when another process runs a server in this directory, or the directory cannot be used;
 * NODEPOOL_UNSAFE_DIRECTORY when another user may exchange what is in it
 */
export async function startEmbeddedZooKeeper(
  stateDir: string,
  settings: EmbeddedSettings,
  logger: Logger,
): Promise<EmbeddedZooKeeper> {
  checkOwnDirectory(stateDir, REMEDY);
  checkSharedPlace(embeddedDataDir(stateDir), REMEDY);
  try {
    await makeStateDir(stateDir, settings.embeddedAccess);
    await warnOfClosedWay(stateDir, settings.embeddedAccess, logger);
    const { server, address } = await start(stateDir, settings, logger);
    logger.info('No zookeeper-servers configured: running the embedded ZooKeeper server of this machine', {
      ...address,
      stateDir,
      access: settings.embeddedAccess,
      toMove: 'nodepool move-to-ensemble copies its content to an ensemble',
    });
    return {
      connection: embeddedConnection(stateDir),
      async close() {
        await removeEmbeddedServerInfo(stateDir);
        await server.close();
      },
    };
  } catch (error) {
    throw explain(stateDir, error);
  }
}

function explain(stateDir: string, error: unknown): unknown {
  if (isNodepoolError(error, 'ZK_EMBEDDED_LOCKED')) {
    const message = `${error.message}: several launchers need zookeeper-servers in their configuration, or each its own --state-dir`;
    return new NodepoolError('NODEPOOL_STATE_DIR', message, { cause: error });
  }
  if (isNodepoolError(error, 'ZK_EMBEDDED_MOVED')) {
    const message =
      `${error.message}: list those servers under zookeeper-servers; ` +
      `or use this database again with: nodepool -c FILE --state-dir ${stateDir} move-to-ensemble --undo ` +
      '(FILE: the configuration that names those servers)';
    return new NodepoolError('NODEPOOL_STATE_DIR', message, { cause: error });
  }
  if (error instanceof NodepoolError) return error;
  const message = `cannot use ${stateDir} for state: ${(error as Error).message}; choose another directory with --state-dir`;
  return new NodepoolError('NODEPOOL_STATE_DIR', message, { cause: error });
}
