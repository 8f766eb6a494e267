import { lookup } from 'node:dns/promises';
import { hostname } from 'node:os';

/** A resolver that does not answer must not delay the start. */
const LOOKUP_MS = 200;

/** The canonical name of an address lookup, where the platform gives one. */
async function canonicalName(name: string): Promise<string | undefined> {
  const { lookupService } = await import('node:dns/promises');
  const { address } = await lookup(name);
  return (await lookupService(address, 0)).hostname;
}

/**
 * Fully qualified name of this host: the host name if it has a dot, else the canonical name of its address if that begins with
 * the host name. Falls back to the host name.
 */
export async function fullHostname(): Promise<string> {
  const short = hostname();
  if (short.includes('.')) return short;
  const timeout = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), LOOKUP_MS).unref());
  const found = await Promise.race([canonicalName(short).catch(() => undefined), timeout]);
  return found?.startsWith(`${short}.`) === true ? found : short;
}
