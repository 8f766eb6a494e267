import { nodeLockPath, ZkLock } from '@nodepool/zk-protocol';
import type { NodeId, ZooKeeper } from '@nodepool/zk-protocol';
import { ifPresent } from '../connection/fetch-records.js';

/** Holder of a node's lock, as its entry names it. */
export interface LockHolder {
  readonly entryPath: string;
  /** Name that the holder gave; often empty. */
  readonly owner: string;
  readonly sinceMs: number;
  /** The session the lock ends with; `undefined` for a persistent lock, which only its owner ends. */
  readonly session: bigint | undefined;
}

/** Prefix of the owner of locks of backing nodes; the name of the metastatic provider follows. */
const METASTATIC = 'NodePool:metastatic:';

/** @returns `undefined` when the lock is free again */
export async function findLockHolder(zk: ZooKeeper, id: NodeId): Promise<LockHolder | undefined> {
  const holder = await ZkLock.lockHolder(zk, nodeLockPath(id));
  const stat = holder && (await ifPresent(zk.exists(holder.entryPath)));
  if (!stat) return undefined;
  const session = stat.ephemeralOwner === 0n ? undefined : stat.ephemeralOwner;
  return { entryPath: holder.entryPath, owner: holder.identifier, sinceMs: stat.ctime, session };
}

/** Describes the holder, and since when it holds the lock. */
export function describeLockHolder({ owner, session, sinceMs }: LockHolder): string {
  const since = ` since ${new Date(sinceMs).toISOString()}`;
  const name = owner === '' ? '' : `"${owner}"`;
  if (session === undefined) return `a persistent lock of ${name || 'an unnamed owner'}${since}`;
  return `held by session 0x${session.toString(16)}${since}${name && `, ${name}`}`;
}

/** How to end a persistent lock; `undefined` for a lock that ends with a session. */
export function persistentLockRemedy({ owner, session, entryPath }: LockHolder): string | undefined {
  if (session !== undefined) return undefined;
  const byHand = `delete the entry ${entryPath} in ZooKeeper and repeat this command`;
  if (!owner.startsWith(METASTATIC)) return `It does not end with a session: if its owner is gone for good, ${byHand}`;
  const provider = owner.slice(METASTATIC.length);
  return (
    `It is a backing node: the metastatic provider "${provider}" gives it back once no job has run there for the ` +
    "label's grace-time. If no launcher has that provider any more, configure it again, and it gives the node back; " +
    `only if that is not possible, ${byHand}`
  );
}
