import { PARKED_KEY, type PoolComponentRecord } from '@nodepool/zk-protocol';
import { isOriginal } from '../plan/candidates.js';

/** The registered pools with one label, of all launchers. */
export interface LabelSharers {
  /**
   * The one that was registered first, whose launcher decides about free nodes of the label; never one of the original, which
   * knows `min-ready` only. Launchers agree about it: who reads an entry has read those that are older, as ZooKeeper answers in order.
   */
  readonly first: PoolComponentRecord | undefined;
  /** One of the original, which requests `min-ready` nodes without counting requests of others. */
  readonly original: PoolComponentRecord | undefined;
  /** One whose launcher does not count parked nodes as free: of the original, or of an older release. */
  readonly unaware: PoolComponentRecord | undefined;
}

/** Finds those of the pools that matter for free nodes of the label. */
export function findSharers(pools: readonly PoolComponentRecord[], label: string): LabelSharers {
  const sharing = pools.filter(({ supportedLabels }) => supportedLabels.includes(label));
  // a pool may have a second entry, where old launchers look
  const ours = new Set(sharing.filter((pool) => !isOriginal(pool)).map(({ launcherId }) => launcherId));
  const aware = new Set(
    sharing.filter(({ raw }) => Array.isArray(raw[PARKED_KEY])).map(({ launcherId }) => launcherId),
  );
  let first: PoolComponentRecord | undefined;
  for (const pool of sharing) if (!isOriginal(pool) && createdIn(pool) < createdIn(first)) first = pool;
  return {
    first,
    original: sharing.find(({ launcherId }) => !ours.has(launcherId)),
    unaware: sharing.find(({ launcherId }) => !aware.has(launcherId)),
  };
}

/**
 * The number of launchers that registered a pool with the label before this one, at least 1 while it has registered none itself. Those of
 * the original do not count.
 */
export function findRank(
  pools: readonly PoolComponentRecord[],
  label: string,
  isOwn: (pool: PoolComponentRecord) => boolean,
): number {
  const sharing = pools.filter((pool) => !isOriginal(pool) && pool.supportedLabels.includes(label));
  const own = sharing.filter(isOwn).map(createdIn);
  const isBefore = (pool: PoolComponentRecord) => own.every((mine) => createdIn(pool) < mine);
  const sessions = new Set(sharing.filter(isBefore).map(({ stat }) => stat?.ephemeralOwner));
  return own.length === 0 ? Math.max(1, sessions.size) : sessions.size;
}

/** The transaction that registered a pool. */
function createdIn(pool: PoolComponentRecord | undefined): bigint | number {
  return pool?.stat?.czxid ?? Infinity;
}
