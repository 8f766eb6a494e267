import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';

/** An address of a host. */
export interface ResolvedAddress {
  address: string;
  family: 4 | 6;
}

/** Resolves a host name to its first address; rejects when there is none. */
export type HostLookup = (host: string) => Promise<ResolvedAddress>;

/** Asks the machine's resolver, in the order it gives. IPv4 and IPv6 literals are returned as they are. */
export const systemLookup: HostLookup = async (host) => {
  const literal = host.replace(/^\[(.*)\]$/, '$1');
  const family = isIP(literal);
  if (family !== 0) return { address: literal, family: family === 6 ? 6 : 4 };
  const found = await lookup(host);
  return { address: found.address, family: found.family === 6 ? 6 : 4 };
};

/** Hosts whose name contains `fake` stand for a host in tests: they are never contacted nor resolved. */
export function isFakeHost(host: string): boolean {
  return host.includes('fake');
}

/** True for connection types whose nodes are reached over SSH, so that host keys are wanted. */
export function hasHostKeys(connectionType: string | null | undefined): boolean {
  return connectionType === 'ssh' || connectionType === 'network_cli';
}
