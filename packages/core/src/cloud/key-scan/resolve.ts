import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';

/** An address of a host. */
export interface ResolvedAddress {
  address: string;
  family: 4 | 6;
}

/** Resolves a host name to its first address; rejects if it has none. */
export type HostLookup = (host: string) => Promise<ResolvedAddress>;

/** Uses the system's resolver, and its order. IPv4 and IPv6 literals are returned unchanged. */
export const systemLookup: HostLookup = async (host) => {
  const literal = host.replace(/^\[(.*)\]$/, '$1');
  const family = isIP(literal);
  if (family !== 0) return { address: literal, family: family === 6 ? 6 : 4 };
  const found = await lookup(host);
  return { address: found.address, family: found.family === 6 ? 6 : 4 };
};

/** Hosts whose name contains `fake` are for tests: they are never contacted or resolved. */
export function isFakeHost(host: string): boolean {
  return host.includes('fake');
}

/** Whether nodes of the connection type are reached over SSH and have host keys. */
export function hasHostKeys(connectionType: string | null | undefined): boolean {
  return connectionType === 'ssh' || connectionType === 'network_cli';
}
