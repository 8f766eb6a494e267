import { isOurs, NODE_ID_TAG, type Instance } from '@nodepool/core';
import { steadyNow, type Clock } from '@nodepool/zk-protocol';
import type { Port } from './client/network.js';

/** Options of {@link PortCleanup}. */
export interface PortCleanupOptions {
  readonly clock: Clock;
  readonly provider: string;
  readonly databaseId: string | undefined;
  /** How long a port must be down. */
  readonly intervalMs: number;
}

/** Maximum number of remembered servers; the oldest are dropped. */
const MAX_SERVERS = 100_000;

/**
 * Finds orphaned ports: down in two lists, an interval apart, and of a deleted server that had the tags of this provider
 * and this database. Never finds ports of other owners, without an owner, or of bare metal.
 */
export class PortCleanup {
  readonly #options: PortCleanupOptions;
  /** Own servers, in the order of their last listing. */
  readonly #ours = new Set<string>();
  #present = new Set<string>();
  /** When each was first listed as one. Steady time. */
  #suspects = new Map<string, number>();
  #lastMs = -Infinity;

  constructor(options: PortCleanupOptions) {
    this.#options = options;
  }

  /** Records the existing servers. */
  saw(instances: readonly Instance[]): void {
    this.#present = new Set(instances.map(({ externalId }) => externalId));
    for (const instance of instances) this.noted(instance);
  }

  /** Records one server, which may be deleted before the next list. */
  noted({ externalId, metadata }: Instance): void {
    const { provider, databaseId } = this.#options;
    if (!isOurs(metadata, provider, databaseId) || metadata[NODE_ID_TAG] === undefined) return;
    this.#present.add(externalId);
    this.#ours.delete(externalId);
    this.#ours.add(externalId);
    for (const id of this.#ours) {
      if (this.#ours.size <= MAX_SERVERS) break;
      this.#ours.delete(id);
    }
  }

  /** Whether ports should be listed now. */
  get isDue(): boolean {
    const { clock, intervalMs } = this.#options;
    return intervalMs > 0 && this.#ours.size > 0 && steadyNow(clock) - this.#lastMs >= Math.min(intervalMs, 60_000);
  }

  /** The orphaned ports in a list. */
  orphansOf(ports: readonly Port[]): Port[] {
    const now = steadyNow(this.#options.clock);
    this.#lastMs = now;
    const suspects = new Map<string, number>();
    const orphans: Port[] = [];
    for (const port of ports) {
      if (!this.#isOrphan(port)) continue;
      const sinceMs = this.#suspects.get(port.id) ?? now;
      suspects.set(port.id, sinceMs);
      if (now - sinceMs >= this.#options.intervalMs && this.#suspects.has(port.id)) orphans.push(port);
    }
    this.#suspects = suspects;
    return orphans;
  }

  #isOrphan({ status, deviceId, deviceOwner, vnicType }: Port): boolean {
    if (status !== 'DOWN' || !deviceOwner.startsWith('compute:') || vnicType === 'baremetal') return false;
    return this.#ours.has(deviceId) && !this.#present.has(deviceId);
  }
}
