import { isSocketPath, UNIX } from '../base/server-address.js';
import { ZooKeeperError } from './contract/errors.js';
import type { ServerAddress } from './contract/types.js';

/** Servers of one ensemble, and the path prefix of all paths (empty for none). */
export interface Ensemble {
  servers: { host: string; port: number }[];
  chroot: string;
}

const PLAIN_PORT = 2181;
const TLS_PORT = 2281;

/**
 * Parses `h1:p1,h2:p2/chroot`, or `unix:/path` for a server on a Unix socket. The chroot follows the last entry; several
 * entries may repeat it. IPv6 literals need brackets. The port defaults to 2281 with TLS and 2181 without.
 * @throws ZK_BAD_ARGUMENTS
 */
export function parseConnectString(text: string, options: { tls?: boolean } = {}): Ensemble {
  if (text.startsWith(UNIX)) return toEnsemble([{ host: text.slice(UNIX.length), port: 0 }]);
  const servers = text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
    .map((entry) => parseEntry(entry, text, options.tls === true ? TLS_PORT : PLAIN_PORT));
  return toEnsemble(servers);
}

/** @throws ZK_BAD_ARGUMENTS for an empty list, an invalid port, or different chroots */
export function toEnsemble(servers: readonly ServerAddress[]): Ensemble {
  if (servers.length === 0) throw badArguments('the list of ZooKeeper servers is empty: name at least one host:port');
  let chroot = '';
  for (const server of servers) {
    if (!isAddress(server)) {
      throw badArguments(
        `ZooKeeper server "${server.host}:${server.port}": expected a host and a port from 1 to 65535`,
      );
    }
    const own = normalizeChroot(server.chroot);
    if (own === '') continue;
    if (chroot !== '' && own !== chroot) {
      throw badArguments(`ZooKeeper servers have different chroots, "${chroot}" and "${own}": an ensemble has one`);
    }
    chroot = own;
  }
  return { servers: servers.map(({ host, port }) => ({ host: stripBrackets(host), port })), chroot };
}

function isAddress({ host, port }: ServerAddress): boolean {
  if (isSocketPath(host)) return port === 0;
  return host !== '' && Number.isInteger(port) && port >= 1 && port <= 65_535;
}

function parseEntry(entry: string, whole: string, defaultPort: number): ServerAddress {
  const match = /^(?:\[(?<v6>[^\]]+)\]|(?<name>[^:/[\]]+))(?::(?<port>\d+))?(?<chroot>\/.*)?$/.exec(entry);
  const host = match?.groups?.v6 ?? match?.groups?.name;
  if (host === undefined) {
    throw badArguments(`connect string "${whole}": "${entry}" is not host:port (IPv6 as [::1]:2181)`);
  }
  const port = match?.groups?.port;
  return { host, port: port === undefined ? defaultPort : Number(port), chroot: match?.groups?.chroot };
}

function stripBrackets(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}

function normalizeChroot(chroot: string | undefined): string {
  const trimmed = (chroot ?? '').replace(/\/+$/, '');
  if (trimmed === '') return '';
  if (!trimmed.startsWith('/') || trimmed.includes('//')) {
    throw badArguments(`ZooKeeper chroot "${chroot}" is not a path: expected "/name" or "/name/name"`);
  }
  return trimmed;
}

function badArguments(message: string): ZooKeeperError {
  return new ZooKeeperError('ZK_BAD_ARGUMENTS', message);
}
