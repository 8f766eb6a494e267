import type { Logger } from '@nodepool/core';
import {
  checkPort,
  hasHostKeys,
  isFakeHost,
  KeyScanError,
  scanHostKeys,
  type HostLookup,
  type ResolvedAddress,
} from '@nodepool/core/ssh';
import { steadyNow, type Clock } from '@nodepool/zk-protocol';
import type { HostConfig } from './config.js';

/** Result of a host check. */
export interface HostFacts {
  readonly publicIpv4: string | null;
  readonly publicIpv6: string | null;
  readonly hostKeys: readonly string[];
  /** When the check ended. Steady time. */
  readonly checkedAtMs: number;
}

/** Dependencies of a host check. */
export interface CheckServices {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly lookup: HostLookup;
  /** A number in [0, 1). */
  readonly random: () => number;
  /** Reads host keys. Default: over the network. */
  readonly scan?: typeof scanHostKeys;
}

/** Whether a host is contacted before it is registered. If not, its configuration is trusted. */
export function needsContact(host: HostConfig): boolean {
  if (isFakeHost(host.name)) return false;
  return host.hostKeyChecking || !hasHostKeys(host.connectionType);
}

/**
 * Checks that a host can be registered: its name has an address, its port answers and it has the configured host keys.
 * A host that must not be contacted is only resolved.
 * @param onFailure - called for each failed connection, while the check continues
 * @throws {TimeoutError} the host did not answer in time
 * @throws {KeyScanError} the name has no address, the keys cannot be read, or a configured key is missing
 */
export async function checkHost(
  host: HostConfig,
  services: CheckServices,
  signal: AbortSignal,
  onFailure: (error: unknown) => void,
): Promise<HostFacts> {
  const { clock, logger, lookup, random, scan = scanHostKeys } = services;
  const resolved = isFakeHost(host.name) ? undefined : await resolve(host, lookup);
  signal.throwIfAborted();
  const hostKeys = await findHostKeys();
  return {
    publicIpv4: resolved?.family === 4 ? resolved.address : null,
    publicIpv6: resolved?.family === 6 ? resolved.address : null,
    hostKeys,
    checkedAtMs: steadyNow(clock),
  };

  async function findHostKeys(): Promise<readonly string[]> {
    if (hasHostKeys(host.connectionType) && !host.hostKeyChecking) return host.hostKeys;
    const scanned = await scan({
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

/** Known keys that the host has replaced by another key of the same type. Added and removed types do not count. */
export function changedKeys(known: readonly string[], found: readonly string[]): string[] {
  const typeOf = (key: string) => key.split(' ', 1)[0];
  const types = new Set(found.map(typeOf));
  return known.filter((key) => !found.includes(key) && types.has(typeOf(key)));
}

/** The error for a host whose pinned keys have changed. */
export function keysChanged(host: string, port: number, changed: readonly string[]): KeyScanError {
  const message =
    `the host no longer has its key ${changed.join(', ')}, and "host-key-checking" is pinned: ` +
    'if the host was reinstalled, set "host-key" to its new key; otherwise another machine answers at its address';
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
      'if the host was reinstalled, update "host-key"; otherwise another machine answers at its address',
  });
}
