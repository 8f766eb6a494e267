import type { NodeId } from '@nodepool/zk-protocol';
import type { BackingNode } from './backing-node.js';

interface Entry {
  bucket: number;
  supply: number;
  reserved: number;
}

/** Backing nodes and demand of one label; every question is answered without a search. */
export class LabelSupply {
  /** Nodes of all launchers that wait for a slot. */
  readonly waiting = new Set<NodeId>();
  /** Slots free or about to be known as free. */
  supply = 0;
  /** Slots promised to launches of this process that are not written yet. */
  reserved = 0;
  /** Backing nodes with slots to give out, by their number. */
  readonly #buckets: Set<BackingNode>[] = [];
  readonly #entries = new Map<BackingNode, Entry>();

  /** Takes a backing node in, or what changed about it. */
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

  /** The backing node with the fewest slots to give out, so that the emptiest can be given back. */
  fullest(): BackingNode | undefined {
    for (const bucket of this.#buckets) {
      if (bucket === undefined || bucket.size === 0) continue;
      for (const backing of bucket) return backing;
    }
    return undefined;
  }
}
