import { checkPort, hasHostKeys, isFakeHost, KeyScanError, scanHostKeys } from '@nodepool/core';
import type { HostLookup, Logger, ResolvedAddress } from '@nodepool/core';
import type { Clock } from '@nodepool/zk-protocol';
import type { HostConfig } from './config.js';

/** What a check found out about a host. */
export interface HostFacts {
  readonly publicIpv4: string | null;
  readonly publicIpv6: string | null;
  readonly hostKeys: readonly string[];
  /** When the check ended. */
  readonly checkedAtMs: number;
}

/** What a check works with. */
export interface CheckServices {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly lookup: HostLookup;
  /** A number in [0, 1). */
  readonly random: () => number;
}

/** False for hosts that are taken as they are configured: nothing is sent to them when they are registered. */
export function needsContact(host: HostConfig): boolean {
  if (isFakeHost(host.name)) return false;
  return host.hostKeyChecking || !hasHostKeys(host.connectionType);
}

/**
 * Checks that a host can be registered: its name has an address, its port answers and, where wanted, it has the
 * configured host keys. Hosts that are not to be contacted are only resolved.
 * @param onFailure - told of each connection that failed, while the check continues
 * @throws {TimeoutError} it did not answer in time
 * @throws {KeyScanError} its name has no address, its keys cannot be read, or a configured key is not among them
 */
export async function checkHost(
  host: HostConfig,
  services: CheckServices,
  signal: AbortSignal,
  onFailure: (error: unknown) => void,
): Promise<HostFacts> {
  const { clock, logger, lookup, random } = services;
  const resolved = isFakeHost(host.name) ? undefined : await resolve(host, lookup);
  signal.throwIfAborted();
  const hostKeys = await findHostKeys();
  return {
    publicIpv4: resolved?.family === 4 ? resolved.address : null,
    publicIpv6: resolved?.family === 6 ? resolved.address : null,
    hostKeys,
    checkedAtMs: clock.now(),
  };

  async function findHostKeys(): Promise<readonly string[]> {
    if (hasHostKeys(host.connectionType) && !host.hostKeyChecking) return host.hostKeys;
    const scanned = await scanHostKeys({
      host: host.name,
      port: host.port,
      connectionType: host.connectionType,
      timeoutMs: host.timeoutMs,
      clock,
      logger,
      signal,
      random,
      onFailure,
      lookup: (name) => (resolved ? Promise.resolve(resolved) : lookup(name)),
    });
    if (hasHostKeys(host.connectionType)) requireConfiguredKeys(host, scanned);
    return scanned;
  }
}

/** Whether the port of a host answers. */
export function answers(host: HostConfig, { clock, lookup }: CheckServices, signal: AbortSignal): Promise<boolean> {
  return checkPort({ host: host.name, port: host.port, timeoutMs: host.timeoutMs, clock, lookup, signal });
}

/** Known keys in whose place the host has another key of the same type. Types that come or go prove nothing. */
export function changedKeys(known: readonly string[], found: readonly string[]): string[] {
  const typeOf = (key: string) => key.split(' ', 1)[0];
  const types = new Set(found.map(typeOf));
  return known.filter((key) => !found.includes(key) && types.has(typeOf(key)));
}

/** The error for a host with other keys than before, where that is not allowed. */
export function keysChanged(host: string, port: number, changed: readonly string[]): KeyScanError {
  const message =
    `the host does not have its key ${changed.join(', ')} any more, and "host-key-checking" is pinned: ` +
    'if the host was installed again, write its new key at "host-key"; otherwise another machine answers at its address';
  return new KeyScanError({ host, port, failure: 'key-mismatch', message });
}

async function resolve(host: HostConfig, lookup: HostLookup): Promise<ResolvedAddress> {
  try {
    return await lookup(host.name);
  } catch (error) {
    throw new KeyScanError({
      host: host.name,
      port: host.port,
      failure: 'unresolved',
      message: 'the name has no address: correct it or add it to the name service',
      cause: error,
    });
  }
}

function requireConfiguredKeys(host: HostConfig, scanned: readonly string[]): void {
  const missing = host.hostKeys.filter((key) => !scanned.includes(key));
  if (missing.length === 0) return;
  throw new KeyScanError({
    host: host.name,
    port: host.port,
    failure: 'key-mismatch',
    message:
      `the configured host-key ${missing.join(', ')} is not among the keys of the host (${scanned.join(', ')}): ` +
      'if the host was installed anew, update "host-key"; otherwise something else answers at its address',
  });
}
