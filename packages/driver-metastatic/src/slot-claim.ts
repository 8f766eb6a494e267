import type { PoolConfig } from '@nodepool/core';
import type { NodeRecord, RequestId } from '@nodepool/zk-protocol';

/** One launch that wants a slot. */
export interface SlotClaim {
  /** Locked, in state `building`. */
  readonly node: NodeRecord;
  readonly label: string;
  readonly pool: PoolConfig;
  readonly request: RequestId;
  /** Whose backing nodes the node is to be, nearest last; empty where a job wants it. See `chain.ts`. */
  readonly chain: readonly string[];
  /** Keys are read from the backing node before the slot is taken. */
  readonly scansKeys: boolean;
  /** Session in which the node was locked. */
  readonly epoch: number;
  /** Keys that were read; `undefined`: those of the backing node's record are taken. */
  hostKeys: readonly string[] | undefined;
  /** The launch has ended: a promised slot is given back. */
  isOver: boolean;
  /** The node is stored, ready. */
  done(node: NodeRecord): void;
  failed(error: Error): void;
}
