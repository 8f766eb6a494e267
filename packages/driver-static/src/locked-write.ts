import { encodeNode, isZooKeeperError, nodeLockPath, nodePath, withNode } from '@nodepool/zk-protocol';
import type { Committer, LockAware, NodeFields, NodeRecord, Operation } from '@nodepool/zk-protocol';

/** `busy`: another process holds or wants the lock. `changed`: the record is not what it was, look again. */
export type WriteOutcome = 'written' | 'busy' | 'changed';

/** What a write needs. */
export interface WriteServices {
  readonly committer: Committer;
  readonly nodes: LockAware;
}

/**
 * The operations that write a record under its lock, in one transaction: ZooKeeper deletes only an empty lock directory,
 * and creates only one that is missing, so either shows that the lock is free, and the lock is taken and released in
 * the same instant.
 * @returns `undefined` when another process has or wants the lock
 */
export function lockedWrite(
  node: NodeRecord,
  changes: NodeFields,
  nowMs: number,
  nodes: LockAware,
): Operation[] | undefined {
  if (nodes.contenders(node.id) > 0) return undefined;
  const next = withNode(node, changes, nowMs, 'static');
  const write: Operation = {
    op: 'set',
    path: nodePath(node.id),
    data: encodeNode(next),
    version: node.stat?.version ?? -1,
  };
  const lock = nodeLockPath(node.id);
  const create: Operation = { op: 'create', path: lock };
  return nodes.hasLockDirectory(node.id) ? [{ op: 'delete', path: lock }, create, write] : [create, write];
}

/** Writes a record under its lock. */
export async function writeLocked(
  node: NodeRecord,
  changes: NodeFields,
  nowMs: number,
  services: WriteServices,
): Promise<WriteOutcome> {
  const operations = lockedWrite(node, changes, nowMs, services.nodes);
  if (operations === undefined) return 'busy';
  try {
    await services.committer.commit(operations);
    return 'written';
  } catch (error) {
    if (isZooKeeperError(error, 'ZK_NOT_EMPTY')) return 'busy';
    if (isZooKeeperError(error, 'ZK_BAD_VERSION', 'ZK_NO_NODE', 'ZK_NODE_EXISTS')) return 'changed';
    throw error;
  }
}
