import { connect } from 'node:net';
import { checkUnixSocket } from '@nodepool/zk-protocol';
import { localSocket, stateDirCandidates } from '@nodepool/core/config';
import type { CliContext } from '../command/context.js';
import { shellWord } from '@nodepool/core/service';
import { findServer, type Server, type ServerArguments } from './server.js';

/** What to do without a server, at the end of an error. */
export const NAME_SERVER =
  '--server URL, NODEPOOL_SERVER, or --state-dir DIR of a launcher of this computer; ' +
  'none in the usual directories serves you on its socket (socket-mode of webapp says who may)';

/**
 * The server that the command line or the environment names; without one, the socket of a launcher of this computer, on which this
 * user needs no token. With `-c`, ZooKeeper is used.
 * @returns `undefined`: there is none, or this user may not use it
 * @throws as {@link findServer}; NODEPOOL_UNSAFE_DIRECTORY if another user could have made the socket
 */
export async function findServerOrSocket(context: CliContext, args: ServerArguments): Promise<Server | undefined> {
  return (await findServer(context, args)) ?? (context.options.configFileNamed ? undefined : findSocket(context));
}

async function findSocket({ options: { stateDir }, env, logger }: CliContext): Promise<Server | undefined> {
  for (const directory of stateDirCandidates({ stateDir, env })) {
    const path = localSocket(directory);
    const failure = await tryConnect(path);
    if (failure === undefined) {
      checkUnixSocket(path);
      const url = `unix:${path}`;
      const options = stateDir === undefined ? '' : ` --server ${shellWord(url)}`;
      return { url, token: undefined, ca: undefined, isInsecure: false, options };
    }
    logger.debug('No launcher serves local users here', { socket: path, reason: failure.message });
  }
  return undefined;
}

/** @returns why the socket cannot be used: there is none, its launcher was killed, or this user may not */
function tryConnect(path: string): Promise<Error | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    socket.once('connect', () => {
      socket.destroy();
      resolve(undefined);
    });
    socket.once('error', resolve);
  });
}
