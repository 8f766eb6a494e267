import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { orAbort } from '@nodepool/zk-protocol';
import { KeyScanError, messageOf } from './errors.js';

/** An address of a host. */
export interface ResolvedAddress {
  address: string;
  family: 4 | 6;
  /** Further addresses of the host, to try when this one does not answer. Missing: none. */
  others?: readonly string[];
}

/** Resolves a host name to its first address; rejects if it has none. */
export type HostLookup = (host: string) => Promise<ResolvedAddress>;

/** Uses the system's resolver, and its order. IPv4 and IPv6 literals are returned unchanged. */
export const systemLookup: HostLookup = async (host) => {
  const literal = host.replace(/^\[(.*)\]$/, '$1');
  const version = isIP(literal);
  if (version !== 0) return { address: literal, family: version === 6 ? 6 : 4 };
  const [found, ...others] = await lookup(host, { all: true });
  if (!found) throw new Error('the resolver has no address');
  const family = found.family === 6 ? 6 : 4;
  return { address: found.address, family, others: others.map(({ address }) => address) };
};

/** The addresses of a host, the first one first. @throws {KeyScanError} it has none */
export async function resolveAddresses(
  { host, port, lookup = systemLookup }: { host: string; port: number; lookup?: HostLookup | undefined },
  signal: AbortSignal,
): Promise<[string, ...string[]]> {
  try {
    const { address, others = [] } = await orAbort(lookup(host), signal);
    return [address, ...others];
  } catch (error) {
    signal.throwIfAborted();
    throw new KeyScanError({
      host,
      port,
      failure: 'unresolved',
      message: `the name has no address (${messageOf(error)}): correct it or add it to the name service`,
      cause: error,
    });
  }
}

/** Hosts whose name contains `fake` are for tests: they are never contacted or resolved. */
export function isFakeHost(host: string): boolean {
  return host.includes('fake');
}

/** Whether nodes of the connection type are reached over SSH and have host keys. */
export function hasHostKeys(connectionType: string | null | undefined): boolean {
  return connectionType === 'ssh' || connectionType === 'network_cli';
}
