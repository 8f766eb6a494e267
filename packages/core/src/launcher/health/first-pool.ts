import type { PoolComponentRecord } from '@nodepool/zk-protocol';

/** How long the other pools leave a new request to the first one, ms. */
export const FIRST_POOL_PAUSE_MS = 250;
/** How long the pools of a slow provider leave a new request to all others: longer than those leave it to one another. */
export const SLOW_POOL_PAUSE_MS = 3_000;

/** FNV-1a of 32 bits, over UTF-16 units. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** Spreads each bit over all (the finalizer of MurmurHash3): ids of requests that follow each other differ in one digit. */
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
 * The pool that takes a request before the others try (rendezvous hashing): all launchers find the same one without asking
 * each other, and when it goes only its own requests change place.
 * @param candidates - those that could serve the request now
 * @returns `undefined` when there is none
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
