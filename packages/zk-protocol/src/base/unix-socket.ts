import { chmodSync, lstatSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';
import { NodepoolError } from './errors.js';
import { makeDirectorySync } from './make-directory.js';

const GROUP_OR_OTHERS_WRITE = 0o022;
const ROOT = 0;
/** Bytes of a path that fit into the socket addresses of the operating system. */
export const MAX_SOCKET_PATH_BYTES = process.platform === 'linux' ? 107 : 103;

/** Whether the name of a server is the path of a Unix socket. */
export function isSocketPath(host: string): boolean {
  return host.startsWith('/');
}

/**
 * Checks a Unix socket before a client connects to it. It and its directory must belong to one user: the owner of the
 * directory above, this user, or root. No other user may have write permission on the directory.
 * @throws NODEPOOL_UNSAFE_DIRECTORY when another user could have put the socket there; the operating system's error
 */
export function checkUnixSocket(path: string, uid = process.geteuid?.()): void {
  if (uid === undefined) return;
  const directory = dirname(path);
  const stats = lstatSync(directory);
  checkDirectory(directory, stats, [uid, ROOT, lstatSync(dirname(directory)).uid]);
  if ((stats.mode & GROUP_OR_OTHERS_WRITE) !== 0) {
    const mode = (stats.mode & 0o7777).toString(8);
    throw unsafe(directory, `other users may write to ${JSON.stringify(directory)} (mode ${mode})`);
  }
  const socket = lstatSync(path);
  if (!socket.isSocket()) throw unsafe(path, 'it is no socket');
  if (socket.uid !== stats.uid && socket.uid !== ROOT) throw unsafe(path, belongsToAnother(path, socket));
}

/**
 * Makes the directory of a Unix socket that a server is going to listen on, with exactly these permissions.
 * @throws NODEPOOL_UNSAFE_DIRECTORY when it exists and belongs to another user or is a link; the operating system's error
 */
export function makeSocketDirectory(path: string, mode: number): void {
  const directory = dirname(path);
  makeDirectorySync(directory, mode);
  const uid = process.geteuid?.();
  if (uid !== undefined) checkDirectory(directory, lstatSync(directory), [uid]);
  chmodSync(directory, mode);
}

function checkDirectory(directory: string, stats: Stats, owners: readonly number[]): void {
  if (!stats.isDirectory()) throw unsafe(directory, 'it is no directory');
  if (!owners.includes(stats.uid)) throw unsafe(directory, belongsToAnother(directory, stats));
}

const belongsToAnother = (path: string, { uid }: Stats): string =>
  `${JSON.stringify(path)} belongs to another user (uid ${uid})`;

function unsafe(path: string, reason: string): NodepoolError {
  const remedy = 'remove it and restart the server, or choose another directory';
  return new NodepoolError('NODEPOOL_UNSAFE_DIRECTORY', `"${path}" is not used: ${reason}; ${remedy}`);
}
