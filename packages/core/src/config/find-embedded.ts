import { createConnection, type NetConnectOpts } from 'node:net';
import { join } from 'node:path';
import { checkPlaceOfService, checkUnixSocket, isNodepoolError, NodepoolError } from '@nodepool/zk-protocol';
import type { ConfiguredConnection } from './zookeeper-options.js';
import {
  accessRemedy,
  embeddedSocket,
  type EmbeddedServerInfo,
  isProcessRunning,
  readEmbeddedServerInfo,
} from './state-dir/state-dir.js';

/**
 * How long clients keep their session while the embedded server is paused or restarts with its launcher. No other server
 * can expire the session meanwhile, and the server grants each session its full timeout after the restart.
 */
const EMBEDDED_SERVER_PAUSE_MS = 150_000;

/** A connection to an embedded server. */
export type EmbeddedConnection = Required<Pick<ConfiguredConnection, 'servers' | 'tls' | 'serverPauseMs'>>;

/** An embedded server that is running. */
export interface FoundServer extends EmbeddedConnection {
  readonly stateDir: string;
}

/** Data folder of the embedded server in a state directory. */
export function embeddedDataDir(stateDir: string): string {
  return join(stateDir, 'zookeeper');
}

/**
 * Finds the embedded server of one of these state directories. Connects to its Unix socket, which no other user can replace and
 * whose permissions replace a login.
 * @returns `undefined` if no directory has a running server
 * @throws NODEPOOL_STATE_DIR if this user may not use the server, or if there is none and the database was moved to an ensemble;
 * NODEPOOL_UNSAFE_DIRECTORY
 */
export async function findEmbeddedServer(stateDirs: readonly string[]): Promise<FoundServer | undefined> {
  for (const stateDir of stateDirs) {
    const info = readEmbeddedServerInfo(stateDir);
    if (info === undefined) continue;
    checkPlaceOfService(embeddedDataDir(stateDir), 'name another --state-dir');
    if (await isServing(stateDir, info)) return { ...embeddedConnection(stateDir), stateDir };
  }
  for (const stateDir of stateDirs) await refuseMoved(stateDir);
  return undefined;
}

/** Throws if the database was moved, or is being moved, to an ensemble. */
async function refuseMoved(stateDir: string): Promise<void> {
  const { readMoveNote } = await import('@nodepool/zk-protocol/embedded');
  try {
    const note = await readMoveNote(embeddedDataDir(stateDir));
    if (note === undefined) return;
    const { to, isDone } = note;
    throw isDone
      ? unusable(
          stateDir,
          `its content was moved to ${to}`,
          `name these servers in zookeeper-servers of the configuration`,
        )
      : unusable(stateDir, `a move of its content to ${to} is not finished`, 'repeat nodepool move-to-ensemble');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['EACCES', 'ENOTDIR'].includes(code)) throw error; // this user cannot read the marker file
  }
}

/** Connection options of the embedded server in this state directory. */
export function embeddedConnection(stateDir: string): EmbeddedConnection {
  return {
    servers: [{ host: embeddedSocket(stateDir), port: 0 }],
    tls: undefined,
    serverPauseMs: EMBEDDED_SERVER_PAUSE_MS,
  };
}

async function isServing(stateDir: string, info: EmbeddedServerInfo): Promise<boolean> {
  const path = embeddedSocket(stateDir);
  const isEarlierVersion = info.socket === undefined;
  try {
    if (!isEarlierVersion) checkUnixSocket(path);
    else if (!isProcessRunning(info.pid)) return false;
    await connectOnce(isEarlierVersion ? { host: info.host, port: info.port ?? 0 } : { path });
  } catch (error) {
    if (isNodepoolError(error)) throw error;
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ENOTDIR', 'ECONNREFUSED'].includes(code)) return false;
    throw unusable(stateDir, message, accessRemedy(stateDir), error);
  }
  if (isEarlierVersion) {
    throw unusable(stateDir, `process ${info.pid} runs it with an earlier version`, 'restart the launcher');
  }
  return true;
}

function connectOnce(target: NetConnectOpts): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(target);
    socket.once('connect', () => {
      socket.destroy();
      resolve();
    });
    socket.once('error', reject);
  });
}

function unusable(stateDir: string, problem: string, remedy: string, cause?: unknown): NodepoolError {
  const message = `cannot use the embedded ZooKeeper server of ${stateDir}: ${problem}; ${remedy}`;
  return new NodepoolError('NODEPOOL_STATE_DIR', message, { cause });
}
