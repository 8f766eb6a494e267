import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { checkSharedPlace, makeDirectorySync } from '@nodepool/zk-protocol';
import { stateDirOf } from '@nodepool/core/config';

/** Where a server listens, in the form `net` takes. */
export type ServerAddress = { readonly path: string } | { readonly host: string; readonly port: number };

/** A server cannot be where it is told to be. */
export class AddressError extends Error {}

/** Longest path of a Unix socket on every system. */
const MAX_SOCKET_PATH = 103;

/**
 * Directory of a cloud for which none is configured.
 * @param serviceDir - where the launcher keeps its state, so that each with a directory of its own has clouds of its own
 */
export function defaultCloudDir(cloud: string, serviceDir?: string): string {
  const stateDir = stateDirOf({ stateDir: serviceDir, env: {} });
  return join(stateDir, 'fake-cloud', encodeURIComponent(cloud));
}

/**
 * Where the server of a directory listens: a Unix socket within, or the loopback address given as `host:port`.
 * @throws {AddressError} the address is no loopback address, or the path is too long for a socket
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
 * Makes the directory of a cloud, readable for this user only. Unlike `makePrivateDirectory`, accepts a "state-dir" that the
 * user's own group may write to, which is what a umask of 002 makes.
 * @throws {AddressError} it belongs to somebody else
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
