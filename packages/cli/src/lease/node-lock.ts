import { nodeLockPath, ZkLock } from '@nodepool/zk-protocol';
import type { Clock, NodeId, ZooKeeper } from '@nodepool/zk-protocol';

/** A node's lock, held. */
export interface NodeLock {
  /** Fires when another process may hold the lock. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
}

/** How a lock is taken. */
export interface NodeLockOptions {
  /** Shown to others as the holder. */
  readonly owner: string;
  readonly timeoutMs: number;
  /** Gives up at once. */
  readonly signal?: AbortSignal;
}

/**
 * Takes the lock of a node.
 * @throws NODEPOOL_LOCK_TIMEOUT when another process keeps it; the signal's reason
 */
export async function lockNode(zk: ZooKeeper, clock: Clock, id: NodeId, options: NodeLockOptions): Promise<NodeLock> {
  const lock = new ZkLock(zk, nodeLockPath(id), { identifier: options.owner, clock });
  await lock.acquire({ timeoutMs: options.timeoutMs, ...(options.signal && { signal: options.signal }) });
  return { lost: lock.lost, release: () => lock.release() };
}
