import { textOf, type NodeId, type NodeRecord, type RecordCache, type UnreadableRecord } from '@nodepool/zk-protocol';
import { placeOf } from './user-data.js';

/** Slots that node records which cannot be read may be on. */
interface Hidden {
  readonly byBacking: ReadonlyMap<NodeId, ReadonlyMap<NodeId, number>>;
  /** Nodes whose place is lost, with the time of the last write: they may be on any slot that there was by then. */
  readonly anywhere: ReadonlyMap<NodeId, number>;
}

/**
 * Slot nodes whose records cannot be read, and that the cache has never read. Their machines may be in use: their slots get no other
 * node, and their backing nodes stay, until the records are repaired or deleted. No event tells of either.
 */
export class HiddenSlots {
  readonly #provider: string;
  readonly #nodes: Pick<RecordCache<NodeRecord>, 'get' | 'unreadable'>;
  #indexed: readonly UnreadableRecord[] = [];
  #hidden: Hidden = { byBacking: new Map(), anywhere: new Map() };

  constructor(provider: string, nodes: Pick<RecordCache<NodeRecord>, 'get' | 'unreadable'>) {
    this.#provider = provider;
    this.#nodes = nodes;
  }

  /** Reads the records again. @returns whether any changed since the last call */
  look(): boolean {
    if (this.#nodes.unreadable === this.#indexed) return false;
    this.#indexed = this.#nodes.unreadable;
    const byBacking = new Map<NodeId, Map<NodeId, number>>();
    const anywhere = new Map<NodeId, number>();
    for (const { id, legible, sinceMs } of this.#indexed) {
      if (this.#nodes.get(id) !== undefined || (textOf(legible['provider']) ?? this.#provider) !== this.#provider)
        continue;
      const { driver_data: driverData } = legible;
      const place = placeOf({ driverData: driverData ?? null });
      if (place) {
        const nodes = byBacking.get(place.backingNode) ?? new Map<NodeId, number>();
        byBacking.set(place.backingNode, nodes.set(id as NodeId, place.slot));
      } else if (driverData === undefined) anywhere.set(id as NodeId, sinceMs);
    }
    this.#hidden = { byBacking, anywhere };
    return true;
  }

  /** Slots of the backing node that such nodes have. */
  on(backing: NodeId): Iterable<readonly [NodeId, number]> {
    return this.#hidden.byBacking.get(backing) ?? [];
  }

  /**
   * Whether one of such nodes may be on any slot of a backing node.
   * @param launchedMs - of the backing node
   * @param isElsewhere - whether the place of a node is known
   */
  mayHide(launchedMs: number, isElsewhere: (node: NodeId) => boolean): boolean {
    return [...this.#hidden.anywhere].some(([node, sinceMs]) => launchedMs <= sinceMs && !isElsewhere(node));
  }
}
