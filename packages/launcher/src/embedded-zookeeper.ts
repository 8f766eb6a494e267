import { mkdir } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { NodepoolError } from '@nodepool/zk-protocol';
import type { Logger } from '@nodepool/core';
import {
  isProcessRunning,
  type EmbeddedServerInfo,
  readEmbeddedServerInfo,
  removeEmbeddedServerInfo,
  writeEmbeddedServerInfo,
} from '@nodepool/core/state-dir';

/** The zero-install ZooKeeper of this launcher. */
export interface EmbeddedZooKeeper {
  readonly host: string;
  readonly port: number;
  /** Ends the server; everything acknowledged is on disk already. */
  close(): Promise<void>;
}

const HOST = '127.0.0.1';
const DEFAULT_PORT = 2181;

function isAddressInUse(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return [error, cause].some((each) => each instanceof Error && 'code' in each && each.code === 'EADDRINUSE');
}

/** The port of the last run first, so that clients find the server where it was. */
async function startOnFirstFreePort(dataDir: string, lastPort: number | undefined, logger: Logger) {
  const { startEmbeddedServer } = await import('@nodepool/zk-protocol/embedded');
  const ports = [...new Set([lastPort ?? DEFAULT_PORT, DEFAULT_PORT])];
  for (const port of ports) {
    try {
      return await startEmbeddedServer({ dataDir, host: HOST, port, logger });
    } catch (error) {
      if (!isAddressInUse(error)) throw error;
    }
  }
  return startEmbeddedServer({ dataDir, host: HOST, port: 0, logger });
}

/** A process id may long belong to somebody else, so the server has to answer too. */
async function isServing({ pid, host, port }: EmbeddedServerInfo): Promise<boolean> {
  if (pid === process.pid || !isProcessRunning(pid)) return false;
  return new Promise((resolve) => {
    const socket = createConnection({ host, port });
    const end = (answers: boolean) => {
      socket.destroy();
      resolve(answers);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}

/**
 * Starts the embedded server on loopback with its data below `stateDir`, and makes it known there.
 * @throws NODEPOOL_STATE_DIR when another process runs a server in this directory, or the directory cannot be used
 */
export async function startEmbeddedZooKeeper(stateDir: string, logger: Logger): Promise<EmbeddedZooKeeper> {
  try {
    await mkdir(stateDir, { recursive: true, mode: 0o755 });
  } catch (error) {
    throw new NodepoolError(
      'NODEPOOL_STATE_DIR',
      `cannot use ${stateDir} for state: ${(error as Error).message}; choose another directory with --state-dir`,
      { cause: error },
    );
  }
  const last = readEmbeddedServerInfo(stateDir);
  if (last && (await isServing(last))) {
    throw new NodepoolError(
      'NODEPOOL_STATE_DIR',
      `process ${last.pid} already runs a ZooKeeper server in ${stateDir}: ` +
        'several launchers need zookeeper-servers in their configuration, or each its own --state-dir',
    );
  }
  const server = await startOnFirstFreePort(join(stateDir, 'zookeeper'), last?.port, logger);
  await writeEmbeddedServerInfo(stateDir, { host: server.host, port: server.port, pid: process.pid });
  logger.info('No zookeeper-servers configured: running the embedded ZooKeeper server of this machine', {
    address: `${server.host}:${server.port}`,
    stateDir,
    toMove: 'export its content with any ZooKeeper client, start an ensemble, and list it under zookeeper-servers',
  });
  return {
    host: server.host,
    port: server.port,
    async close() {
      await removeEmbeddedServerInfo(stateDir);
      await server.close();
    },
  };
}
