import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { checkSharedPlace, makeDirectorySync } from '@nodepool/zk-protocol';
import { stateDirOf } from '@nodepool/core/config';

/** Address of a server, in the form of `net`. */
export type ServerAddress = { readonly path: string } | { readonly host: string; readonly port: number };

/** The configured address or directory of a server cannot be used. */
export class AddressError extends Error {}

/** Longest path of a Unix socket on every system. */
const MAX_SOCKET_PATH = 103;

/**
 * Default directory of a cloud.
 * @param serviceDir - state directory of the launcher: launchers with separate directories have separate clouds
 */
export function defaultCloudDir(cloud: string, serviceDir?: string): string {
  const stateDir = stateDirOf({ stateDir: serviceDir, env: {} });
  return join(stateDir, 'fake-cloud', encodeURIComponent(cloud));
}

/**
 * Address of the server of a directory: a Unix socket in it, or the loopback address given as `host:port`.
 * @throws {AddressError} the address is not a loopback address, or the path is too long for a socket
 */
export function addressOf(dir: string, listen?: string): ServerAddress {
  if (listen === undefined) {
    const path = join(dir, 'socket');
    if (Buffer.byteLength(path) <= MAX_SOCKET_PATH) return { path };
    throw new AddressError(`fake cloud: ${path} is too long for a Unix socket: choose a shorter "state-dir"`);
  }
  const match = /^(127\.\d+\.\d+\.\d+|localhost|\[::1\]):(\d+)$/.exec(listen);
  const port = Number(match?.[2]);
  if (!match?.[1] || port > 65_535) {
    throw new AddressError(`fake cloud: "listen" is "${listen}", expected a loopback address such as 127.0.0.1:7000`);
  }
  return { host: match[1].replace(/^\[(.*)\]$/, '$1'), port };
}

/**
 * Creates the directory of a cloud, readable for this user only. Unlike `makePrivateDirectory`, accepts a "state-dir" that
 * the user's own group may write to, as a umask of 002 allows.
 * @throws {AddressError} it belongs to another user
 */
export function ensureCloudDir(dir: string): void {
  checkSharedPlace(dir, 'choose another "state-dir"');
  makeDirectorySync(dir, 0o700);
  const { uid } = lstatSync(dir);
  const own = process.getuid?.();
  if (own !== undefined && uid !== own) {
    throw new AddressError(`fake cloud: directory ${dir} belongs to another user: choose another "state-dir"`);
  }
}
