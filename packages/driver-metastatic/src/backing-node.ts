import type { NodeId, NodeRecord } from '@nodepool/zk-protocol';
import type { SlotClaim } from './slot-claim.js';
import type { BackingData } from './user-data.js';

/** Whose lasting lock a node has: `unknown` until ZooKeeper was asked. */
export type Ownership = 'unknown' | 'ours' | 'foreign';

/** One backing node as this launcher sees it: what its record says, and what this launcher is about to do with it. */
export class BackingNode {
  readonly id: NodeId;
  record: NodeRecord;
  data: BackingData;
  ownership: Ownership = 'unknown';
  /** Path of the lasting lock entry, once it was seen. */
  lockEntry: string | undefined;
  /** Slots taken, by the node that took each. */
  occupied: ReadonlyMap<number, NodeId> = new Map();
  /** Nodes named by claims that are certain to be gone. */
  readonly gone = new Set<NodeId>();
  /** Slots this launcher has promised to launches that are not written yet. */
  reserved = 0;
  /** Claims waiting to be written together. */
  readonly queue: SlotClaim[] = [];
  /** Claims are being written. */
  isWriting = false;
  /** Another process wrote the record after this version: nothing can be claimed before the newer one is here. */
  staleVersion = -1;
  /** Found unusable here; the record may not say so yet. */
  isFailed = false;
  /** Older than `max-age`, or its label is not configured any more. */
  isDrained = false;
  /** When a slot was given back last, as far as is known. */
  lastUsedMs: number;

  constructor(record: NodeRecord, data: BackingData, nowMs: number) {
    this.id = record.id;
    this.record = record;
    this.data = data;
    this.lastUsedMs = nowMs;
  }

  /** Gets no more jobs. */
  get isClosed(): boolean {
    return this.isFailed || this.data.failed || this.isDrained;
  }

  /** Slots that no node has or was promised, whether or not they can be given out at this moment. */
  get unclaimed(): number {
    if (this.isClosed || this.ownership === 'foreign') return 0;
    return Math.max(0, this.data.slots - this.occupied.size - this.reserved);
  }

  /** Slots that can be given out now. */
  get available(): number {
    const isCurrent = (this.record.stat?.version ?? -1) > this.staleVersion;
    return this.ownership === 'ours' && isCurrent ? this.unclaimed : 0;
  }

  /** No slot is taken or promised. */
  get isEmpty(): boolean {
    return this.occupied.size === 0 && this.reserved === 0;
  }
}
