import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '@nodepool/zk-protocol';
import type { PoolConfig } from '../contract/provider-config.js';
import type { FileCheck } from './file-check.js';
import { countingEntries, namedEntries } from './raw-values.js';

/**
 * Warns of pools that are never used because another pool of the provider offers the same labels with the same settings,
 * has precedence, and has no limit, so that it uses the whole shared quota. Ignores drivers that launch nothing and thus
 * have no quota.
 */
export function checkShadows(top: JsonObject, { providers, drivers, document, problems }: FileCheck): void {
  for (const { index, name, entry } of countingEntries(top['providers'])) {
    const provider = providers.get(name);
    if (provider === undefined || drivers.get(name)?.capabilities.launches !== true) continue;
    const pools = countingEntries(entry['pools']).flatMap((place) => {
      const pool = provider.pools.get(place.name);
      return pool === undefined ? [] : [{ ...place, pool }];
    });
    for (const [position, own] of pools.entries()) {
      const shadow = pools.find((other, at) => other !== own && shadows(other, own, at < position));
      if (shadow === undefined) continue;
      const message =
        `pool "${own.name}" offers what pool "${shadow.name}" offers too, which goes first and has no limit: it is never used. ` +
        `Give "${shadow.name}" a max-servers, or remove one of them`;
      problems.add(document, ['providers', index, 'pools', own.index, 'name'], message, { severity: 'warning' });
    }
  }
}

interface WrittenPool {
  readonly entry: JsonObject;
  readonly pool: PoolConfig;
}

/** @param isWrittenFirst - decides between pools of equal priority */
function shadows(other: WrittenPool, own: WrittenPool, isWrittenFirst: boolean): boolean {
  if (isLimited(other.pool) || own.pool.labels.size === 0 || own.pool.maxServers <= 0) return false;
  const [theirs, ours] = [other.pool.priority ?? 100, own.pool.priority ?? 100];
  const goesFirst = theirs < ours || (theirs === ours && isWrittenFirst);
  return goesFirst && isDeepStrictEqual(settingsOf(other.entry), settingsOf(own.entry)) && offersAll(other, own);
}

function isLimited({ maxServers, maxResources }: PoolConfig): boolean {
  return Number.isFinite(maxServers) || Object.keys(maxResources).length > 0;
}

/** Settings of the nodes of a pool. A pool with different networks or zones serves as a fallback. */
function settingsOf(entry: JsonObject): JsonObject {
  const isOwn = (key: string) => !['name', 'priority', 'labels'].includes(key) && !key.startsWith('max-');
  return Object.fromEntries(Object.entries(entry).filter(([key]) => isOwn(key)));
}

function offersAll(other: WrittenPool, own: WrittenPool): boolean {
  const theirs = new Map(namedEntries(other.entry['labels']).map(({ name, entry }) => [name, entry]));
  return namedEntries(own.entry['labels']).every(({ name, entry }) => isDeepStrictEqual(theirs.get(name), entry));
}
