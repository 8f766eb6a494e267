import { numberOf, textOf, type NodeId, type NodeRecord } from '@nodepool/zk-protocol';
import type { RecordCache, UnreadableRecord } from '@nodepool/zk-protocol';

/** Records of a host, or of any host, that cannot be read. */
interface Hidden {
  readonly bySlot: Map<number, NodeId>;
  /** One that may be of any slot. */
  anySlot: NodeId | undefined;
}

/**
 * The slots that node records which cannot be read may stand for. Their machines may be in use, so they get no other record until
 * these are repaired or deleted. Records that the cache has read before are known as they were, and hide nothing.
 */
export class HiddenSlots {
  readonly #provider: string;
  readonly #nodes: Pick<RecordCache<NodeRecord>, 'get' | 'unreadable'>;
  #indexed: readonly UnreadableRecord[] | undefined;
  readonly #byHost = new Map<string, Hidden>();
  /** Those whose host cannot be read. */
  #anyHost: Hidden = { bySlot: new Map(), anySlot: undefined };

  constructor(provider: string, nodes: Pick<RecordCache<NodeRecord>, 'get' | 'unreadable'>) {
    this.#provider = provider;
    this.#nodes = nodes;
  }

  /** A record that may stand for the slot; `undefined`: there is none. */
  recordOf(hostname: string, slot: number): NodeId | undefined {
    if (this.#nodes.unreadable !== this.#indexed) this.#index();
    const { bySlot, anySlot } = this.#anyHost;
    const ofHost = this.#byHost.get(hostname);
    return ofHost?.bySlot.get(slot) ?? ofHost?.anySlot ?? bySlot.get(slot) ?? anySlot;
  }

  #index(): void {
    this.#indexed = this.#nodes.unreadable;
    this.#byHost.clear();
    this.#anyHost = { bySlot: new Map(), anySlot: undefined };
    for (const { id, legible } of this.#indexed) {
      if (this.#nodes.get(id) !== undefined) continue;
      if ((textOf(legible['provider']) ?? this.#provider) !== this.#provider) continue;
      const hidden = this.#of(textOf(legible['hostname']));
      const slot = numberOf(legible['slot']);
      if (slot === undefined) hidden.anySlot = id as NodeId;
      else hidden.bySlot.set(slot, id as NodeId);
    }
  }

  #of(hostname: string | undefined): Hidden {
    if (hostname === undefined) return this.#anyHost;
    let hidden = this.#byHost.get(hostname);
    if (!hidden) this.#byHost.set(hostname, (hidden = { bySlot: new Map(), anySlot: undefined }));
    return hidden;
  }
}
