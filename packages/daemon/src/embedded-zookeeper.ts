import {
  checkOwnDirectory,
  checkSharedPlace,
  isNodepoolError,
  makeDirectory,
  NodepoolError,
} from '@nodepool/zk-protocol';
import type { EmbeddedServerOptions } from '@nodepool/zk-protocol/embedded';
import type { EmbeddedAccess, Logger } from '@nodepool/core';
import {
  embeddedDataDir,
  ensureEmbeddedLogin,
  readEmbeddedServerInfo,
  removeEmbeddedServerInfo,
  writeEmbeddedServerInfo,
} from '@nodepool/core/config';

/** The zero-install ZooKeeper of this process. */
export interface EmbeddedZooKeeper {
  readonly host: string;
  readonly port: number;
  /** What clients have to prove, `user:password`; `undefined` when it serves everybody. */
  readonly login: string | undefined;
  /** Ends the server; everything acknowledged is on disk already. */
  close(): Promise<void>;
}

const REMEDY = 'choose a directory that only this user may write to with --state-dir';
const HOST = '127.0.0.1';
const DEFAULT_PORT = 2181;

function isAddressInUse(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return [error, cause].some((each) => each instanceof Error && 'code' in each && each.code === 'EADDRINUSE');
}

/** The port of the last run first, so that clients find the server where it was. */
async function startOnFirstFreePort(
  options: Pick<EmbeddedServerOptions, 'dataDir' | 'login' | 'logger' | 'onLost'>,
  lastPort: number | undefined,
) {
  const { startEmbeddedServer } = await import('@nodepool/zk-protocol/embedded');
  const ports = [...new Set([lastPort ?? DEFAULT_PORT, DEFAULT_PORT])];
  for (const port of ports) {
    try {
      return await startEmbeddedServer({ ...options, host: HOST, port });
    } catch (error) {
      if (!isAddressInUse(error)) throw error;
    }
  }
  return startEmbeddedServer({ ...options, host: HOST, port: 0 });
}

/** Without its database a service has nothing to do: the error ends the process, which a supervisor starts again. */
function endProcess(error: Error): void {
  setImmediate(() => {
    throw error;
  });
}

async function start(stateDir: string, access: EmbeddedAccess, logger: Logger) {
  let found: string | undefined;
  const lastPort = readEmbeddedServerInfo(stateDir)?.port;
  const login = async () => {
    // What an earlier server left would send clients to a port that may be anybody's by now.
    await removeEmbeddedServerInfo(stateDir);
    return (found = await ensureEmbeddedLogin(stateDir, access));
  };
  const options = { dataDir: embeddedDataDir(stateDir), login, logger, onLost: endProcess };
  const server = await startOnFirstFreePort(options, lastPort);
  try {
    await writeEmbeddedServerInfo(stateDir, { host: server.host, port: server.port, pid: process.pid }, access);
  } catch (error) {
    await server.close();
    throw error;
  }
  return { server, login: found };
}

/**
 * Starts the embedded server on loopback with its data below `stateDir`, and makes it known there.
 * @throws NODEPOOL_STATE_DIR when another process runs a server in this directory, or the directory cannot be used;
 * NODEPOOL_UNSAFE_DIRECTORY when another user may exchange what is in it
 */
export async function startEmbeddedZooKeeper(
  stateDir: string,
  access: EmbeddedAccess,
  logger: Logger,
): Promise<EmbeddedZooKeeper> {
  checkOwnDirectory(stateDir, REMEDY);
  checkSharedPlace(embeddedDataDir(stateDir), REMEDY);
  try {
    await makeDirectory(stateDir, 0o755);
    const { server, login } = await start(stateDir, access, logger);
    logger.info('No zookeeper-servers configured: running the embedded ZooKeeper server of this machine', {
      address: `${server.host}:${server.port}`,
      stateDir,
      access,
      toMove: 'export its content with any ZooKeeper client, start an ensemble, and list it under zookeeper-servers',
    });
    return {
      host: server.host,
      port: server.port,
      login,
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
  if (error instanceof NodepoolError) return error;
  const message = `cannot use ${stateDir} for state: ${(error as Error).message}; choose another directory with --state-dir`;
  return new NodepoolError('NODEPOOL_STATE_DIR', message, { cause: error });
}
