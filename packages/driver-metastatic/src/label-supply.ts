import type { NodeId } from '@nodepool/zk-protocol';
import type { BackingNode } from './backing-node.js';

interface Entry {
  bucket: number;
  supply: number;
  reserved: number;
}

/** Supply and demand of one label, with constant-time queries. */
export class LabelSupply {
  /** Nodes, of all launchers, that wait for a slot. */
  readonly waiting = new Set<NodeId>();
  /** Slots that are free or about to be free. */
  supply = 0;
  /** Slots that this process has reserved for launches, not yet written. */
  reserved = 0;
  /** Backing nodes by number of available slots. */
  readonly #buckets: Set<BackingNode>[] = [];
  readonly #entries = new Map<BackingNode, Entry>();

  /** Adds or updates a backing node. */
  put(backing: BackingNode): void {
    const { available, unclaimed } = backing;
    const entry = this.#entries.get(backing) ?? { bucket: 0, supply: 0, reserved: 0 };
    this.#entries.set(backing, entry);
    this.supply += unclaimed - entry.supply;
    entry.supply = unclaimed;
    this.reserved += backing.reserved - entry.reserved;
    entry.reserved = backing.reserved;
    if (entry.bucket === available) return;
    this.#buckets[entry.bucket]?.delete(backing);
    if (available > 0) (this.#buckets[available] ??= new Set()).add(backing);
    entry.bucket = available;
  }

  remove(backing: BackingNode): void {
    const entry = this.#entries.get(backing);
    if (!entry) return;
    this.#entries.delete(backing);
    this.#buckets[entry.bucket]?.delete(backing);
    this.supply -= entry.supply;
    this.reserved -= entry.reserved;
  }

  /** The backing node with the fewest available slots, so that emptier ones can be returned. */
  fullest(): BackingNode | undefined {
    for (const bucket of this.#buckets) {
      if (bucket === undefined || bucket.size === 0) continue;
      for (const backing of bucket) return backing;
    }
    return undefined;
  }
}
