import { isOurs, NODE_ID_TAG, type Instance } from '@nodepool/core';
import type { Clock } from '@nodepool/zk-protocol';
import type { Port } from './client/network.js';

/** How ports are told apart. */
export interface PortCleanupOptions {
  readonly clock: Clock;
  readonly provider: string;
  readonly databaseId: string | undefined;
  /** How long a port has to be down. */
  readonly intervalMs: number;
}

/** Ids of servers are remembered up to this number; the oldest give way. */
const MOST_SERVERS = 100_000;

/**
 * Finds orphaned ports: down at two looks, an interval apart, of a deleted server that was seen with the tags of this
 * provider and this database. Ports of other owners, without an owner, or of bare metal are never deleted.
 */
export class PortCleanup {
  readonly #options: PortCleanupOptions;
  /** Servers of ours that were seen, in the order in which they were. */
  readonly #ours = new Set<string>();
  #present = new Set<string>();
  #suspects = new Map<string, number>();
  #lastMs = -Infinity;

  constructor(options: PortCleanupOptions) {
    this.#options = options;
  }

  /** Notes which servers there are. */
  saw(instances: readonly Instance[]): void {
    this.#present = new Set(instances.map(({ externalId }) => externalId));
    for (const instance of instances) this.noted(instance);
  }

  /** Notes one server, which may not live until the next list. */
  noted({ externalId, metadata }: Instance): void {
    const { provider, databaseId } = this.#options;
    if (!isOurs(metadata, provider, databaseId) || metadata[NODE_ID_TAG] === undefined) return;
    this.#present.add(externalId);
    this.#ours.delete(externalId);
    this.#ours.add(externalId);
    for (const id of this.#ours) {
      if (this.#ours.size <= MOST_SERVERS) break;
      this.#ours.delete(id);
    }
  }

  /** It is time for a look. */
  get isDue(): boolean {
    const { clock, intervalMs } = this.#options;
    return intervalMs > 0 && this.#ours.size > 0 && clock.now() - this.#lastMs >= Math.min(intervalMs, 60_000);
  }

  /** Which of these ports are to be deleted. */
  judge(ports: readonly Port[]): Port[] {
    const now = this.#options.clock.now();
    this.#lastMs = now;
    const suspects = new Map<string, number>();
    const left: Port[] = [];
    for (const port of ports) {
      if (!this.#isLeft(port)) continue;
      const sinceMs = this.#suspects.get(port.id) ?? now;
      suspects.set(port.id, sinceMs);
      if (now - sinceMs >= this.#options.intervalMs && this.#suspects.has(port.id)) left.push(port);
    }
    this.#suspects = suspects;
    return left;
  }

  #isLeft({ status, deviceId, deviceOwner, vnicType }: Port): boolean {
    if (status !== 'DOWN' || !deviceOwner.startsWith('compute:') || vnicType === 'baremetal') return false;
    return this.#ours.has(deviceId) && !this.#present.has(deviceId);
  }
}
