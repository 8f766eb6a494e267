import type { PoolConfig } from '@nodepool/core';
import type { NodeRecord, RequestId } from '@nodepool/zk-protocol';

/** One launch that needs a slot. */
export interface SlotClaim {
  /** Locked, in state `building`. */
  readonly node: NodeRecord;
  readonly label: string;
  readonly pool: PoolConfig;
  readonly request: RequestId;
  /** Labels that use the node as backing node, nearest last; empty for a job. See `chain.ts`. */
  readonly chain: readonly string[];
  /** Whether host keys are read before the slot is claimed. */
  readonly scansKeys: boolean;
  /** Session in which the node was locked. */
  readonly epoch: number;
  /** Keys that were read; `undefined`: use the keys of the backing node's record. */
  hostKeys: readonly string[] | undefined;
  /** The launch has ended, so a reserved slot is released. */
  isOver: boolean;
  /** The node is stored, ready. */
  done(node: NodeRecord): void;
  failed(error: Error): void;
}
