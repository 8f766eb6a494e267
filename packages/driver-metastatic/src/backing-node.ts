import { steadyNow, type Clock, type NodeId, type NodeRecord } from '@nodepool/zk-protocol';
import type { SlotClaim } from './slot-claim.js';
import type { BackingData } from './user-data.js';

/** Owner of the permanent lock of a node; `unknown` until it was read from ZooKeeper. */
export type Ownership = 'unknown' | 'ours' | 'foreign';

/** One backing node: its record, and the pending operations of this launcher. */
export class BackingNode {
  readonly id: NodeId;
  record: NodeRecord;
  data: BackingData;
  ownership: Ownership = 'unknown';
  /** Path of the permanent lock entry, once known. */
  lockEntry: string | undefined;
  /** Node of each occupied slot. */
  occupied: ReadonlyMap<number, NodeId> = new Map();
  /** A node whose record cannot be read may be on any of its slots. */
  mayHide = false;
  /** Nodes in the claims that are known to be deleted. */
  readonly gone = new Set<NodeId>();
  /** Slots that this launcher has reserved for launches, not yet written. */
  reserved = 0;
  /** Claims for the next write. */
  readonly queue: SlotClaim[] = [];
  /** A write of claims is pending. */
  isWriting = false;
  /** Outdated version of the record. No slot can be claimed until a newer version is in the cache. */
  staleVersion = -1;
  /** This launcher found it broken; the record may not yet say so. */
  isFailed = false;
  /** Why it is broken, as far as this launcher knows. */
  failure: string | undefined;
  /** Older than `max-age`, or its label is no longer configured. */
  isDrained = false;
  /** When a slot was last returned, as far as known. Steady time. */
  lastUsedMs: number;
  /** When it was launched. Steady time, as the system time may be set. */
  readonly launchedMs: number;

  constructor(record: NodeRecord, data: BackingData, clock: Pick<Clock, 'now' | 'steadyNow'>) {
    this.id = record.id;
    this.record = record;
    this.data = data;
    this.lastUsedMs = steadyNow(clock);
    this.launchedMs = this.lastUsedMs - Math.max(0, clock.now() - data.launchedMs);
  }

  /** Whether it gets no more jobs. */
  get isClosed(): boolean {
    return this.isFailed || this.data.failed || this.isDrained;
  }

  /** Slots that are neither occupied nor reserved, whether or not they can be assigned now. */
  get unclaimed(): number {
    if (this.isClosed || this.mayHide || this.ownership === 'foreign') return 0;
    return Math.max(0, this.data.slots - this.occupied.size - this.reserved);
  }

  /** Slots that can be assigned now. */
  get available(): number {
    const isCurrent = (this.record.stat?.version ?? -1) > this.staleVersion;
    return this.ownership === 'ours' && isCurrent ? this.unclaimed : 0;
  }

  /** Whether no slot is occupied or reserved, as far as records can be read. */
  get isEmpty(): boolean {
    return this.occupied.size === 0 && this.reserved === 0 && !this.mayHide;
  }
}
