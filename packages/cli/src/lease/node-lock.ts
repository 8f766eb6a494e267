import { nodeLockPath, ZkLock } from '@nodepool/zk-protocol';
import type { Clock, NodeId, ZooKeeper } from '@nodepool/zk-protocol';
import { ifPresent } from '../fetch-records.js';

/** A node's lock, held. */
export interface NodeLock {
  /** Fires when the lock may be somebody else's now. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
}

/** How a lock is taken. */
export interface NodeLockOptions {
  /** Shown to others as the holder. */
  readonly owner: string;
  readonly timeoutMs: number;
}

/**
 * Takes the lock of a node.
 * @throws NODEPOOL_LOCK_TIMEOUT when somebody else keeps it
 */
export async function lockNode(zk: ZooKeeper, clock: Clock, id: NodeId, options: NodeLockOptions): Promise<NodeLock> {
  const lock = new ZkLock(zk, nodeLockPath(id), { identifier: options.owner, clock });
  await lock.acquire({ timeoutMs: options.timeoutMs });
  return { lost: lock.lost, release: () => lock.release() };
}

/** Who holds the lock of a node, as far as its entry tells; `undefined` when nobody does. */
export async function describeHolder(zk: ZooKeeper, id: NodeId): Promise<string | undefined> {
  const holder = await ZkLock.lockHolder(zk, nodeLockPath(id));
  if (!holder) return undefined;
  const stat = await ifPresent(zk.exists(holder.entryPath));
  const since = stat ? ` since ${new Date(stat.ctime).toISOString()}` : '';
  const session = stat ? ` by session 0x${stat.ephemeralOwner.toString(16)}` : '';
  const name = holder.identifier === '' ? '' : `, "${holder.identifier}"`;
  return `held${session}${since}${name}`;
}
