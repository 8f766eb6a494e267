import type { NodeRecord } from '@nodepool/zk-protocol';
import type { NodeLogin } from './node-login.js';

/** A node that this process holds. */
export interface LeasedNode {
  readonly node: NodeRecord;
  /** The requested label. */
  readonly label: string;
  /** `undefined`: with what ssh finds. */
  readonly login?: NodeLogin | undefined;
}
