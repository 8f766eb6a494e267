import type { NodeRecord } from '@nodepool/zk-protocol';

/** A node that this process holds. */
export interface LeasedNode {
  readonly node: NodeRecord;
  /** The requested label. */
  readonly label: string;
}
