import { createConnection } from 'node:net';
import { join } from 'node:path';
import { checkSharedPlace } from '@nodepool/zk-protocol';
import type { ConfiguredConnection } from './zookeeper-options.js';
import { readEmbeddedLogin } from './state-dir/embedded-login.js';
import { type EmbeddedServerInfo, readEmbeddedServerInfo } from './state-dir/state-dir.js';

/**
 * How long clients wait for a paused embedded server before they give up their session. No other server could end it
 * meanwhile, and this one does not end it for its own pause.
 */
export const EMBEDDED_SERVER_PAUSE_MS = 60_000;

/** Folder of the embedded server's data below a state directory. */
export function embeddedDataDir(stateDir: string): string {
  return join(stateDir, 'zookeeper');
}

/**
 * How a client reaches the embedded server of one of these state directories, with the login that it demands.
 * @returns `undefined` when none of them has a running server
 * @throws NODEPOOL_STATE_DIR when there is one, and this user may not use it; NODEPOOL_UNSAFE_DIRECTORY
 */
export async function findEmbeddedServer(
  stateDirs: readonly string[],
): Promise<Required<Pick<ConfiguredConnection, 'servers' | 'auth' | 'serverPauseMs'>> | undefined> {
  for (const stateDir of stateDirs) {
    const info = readEmbeddedServerInfo(stateDir);
    if (info !== undefined) checkSharedPlace(embeddedDataDir(stateDir), 'name another --state-dir');
    if (info === undefined || !(await isRunning(stateDir, info))) continue;
    const login = readEmbeddedLogin(stateDir);
    return {
      servers: [{ host: info.host, port: info.port }],
      auth: login === undefined ? [] : [{ scheme: 'digest', auth: login }],
      serverPauseMs: EMBEDDED_SERVER_PAUSE_MS,
    };
  }
  return undefined;
}

/** A server that died may have left its port to anybody, who must not be told the login: its data directory knows. */
async function isRunning(stateDir: string, info: EmbeddedServerInfo): Promise<boolean> {
  const { isDirectoryInUse } = await import('@nodepool/zk-protocol/embedded');
  return (await isDirectoryInUse(embeddedDataDir(stateDir))) ?? isAnswering(info);
}

function isAnswering({ host, port }: EmbeddedServerInfo): Promise<boolean> {
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
