import { chmodSync, lstatSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';
import { makeDirectorySync } from './make-directory.js';
import { openTo, owned, unsafePath } from './own-directory.js';

const GROUP_OR_OTHERS_WRITE = 0o022;
const ROOT = 0;
const REMEDY = 'remove it and restart the server, or choose another directory';
/** Longest path in a socket address of the operating system, in bytes. */
export const MAX_SOCKET_PATH_BYTES = process.platform === 'linux' ? 107 : 103;

/**
 * Checks a Unix socket before a client connects to it. The socket and its directory must belong to one user: the owner of the
 * parent directory, this user, or root. Other users must not have write permission on the directory.
 * @throws NODEPOOL_UNSAFE_DIRECTORY if another user could have created the socket; the operating system's error
 */
export function checkUnixSocket(path: string, uid = process.geteuid?.()): void {
  if (uid === undefined) return;
  const directory = dirname(path);
  const stats = lstatSync(directory);
  checkDirectory(directory, stats, [uid, ROOT, lstatSync(dirname(directory)).uid]);
  if ((stats.mode & GROUP_OR_OTHERS_WRITE) !== 0) {
    throw unsafePath(directory, openTo({ path: directory, stats }), REMEDY);
  }
  const socket = lstatSync(path);
  if (!socket.isSocket()) throw unsafePath(path, 'it is not a socket', REMEDY);
  if (socket.uid !== stats.uid && socket.uid !== ROOT) {
    throw unsafePath(path, owned({ path, stats: socket }), REMEDY);
  }
}

/**
 * Creates the directory of a server's Unix socket with exactly these permissions.
 * @throws NODEPOOL_UNSAFE_DIRECTORY if it exists and belongs to another user or is a link; the operating system's error
 */
export function makeSocketDirectory(path: string, mode: number): void {
  const directory = dirname(path);
  makeDirectorySync(directory, mode);
  const uid = process.geteuid?.();
  if (uid !== undefined) checkDirectory(directory, lstatSync(directory), [uid]);
  chmodSync(directory, mode);
}

function checkDirectory(directory: string, stats: Stats, owners: readonly number[]): void {
  if (!stats.isDirectory()) throw unsafePath(directory, 'it is not a directory', REMEDY);
  if (!owners.includes(stats.uid)) throw unsafePath(directory, owned({ path: directory, stats }), REMEDY);
}
