import type { PoolComponentRecord } from '@nodepool/zk-protocol';

/** How long other pools leave a new request to the first one, in ms. */
export const FIRST_POOL_PAUSE_MS = 250;
/** How long pools of a slow or failing provider leave a new request to others: longer than {@link FIRST_POOL_PAUSE_MS}. */
export const SLOW_POOL_PAUSE_MS = 3_000;

/** FNV-1a of 32 bits, over UTF-16 units. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** The finalizer of MurmurHash3, which spreads each bit over all: consecutive request ids differ in one digit only. */
function spread(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

const hashes = new WeakMap<object, number>();

function hashOfPool(pool: Pick<PoolComponentRecord, 'launcherId'>): number {
  let hash = hashes.get(pool);
  if (hash === undefined) hashes.set(pool, (hash = spread(hashOf(pool.launcherId))));
  return hash;
}

/**
 * The pool that may take a request before others try, by rendezvous hashing: all launchers find the same one without
 * communication, and when a pool leaves, only its own requests move.
 * @param candidates - pools that could serve the request now
 * @returns `undefined` if there are none
 */
export function firstPoolFor<T extends Pick<PoolComponentRecord, 'launcherId'>>(
  requestId: string,
  candidates: readonly T[],
): T | undefined {
  if (candidates.length <= 1) return candidates[0];
  const requestHash = spread(hashOf(requestId));
  let first: T | undefined;
  let most = -1;
  for (const pool of candidates) {
    const weight = spread(requestHash ^ hashOfPool(pool));
    if (weight < most || (weight === most && first && first.launcherId < pool.launcherId)) continue;
    most = weight;
    first = pool;
  }
  return first;
}
