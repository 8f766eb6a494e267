import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '@nodepool/zk-protocol';
import type { PoolConfig } from '../contract/provider-config.js';
import type { FileCheck } from './file-check.js';
import { countingEntries, namedEntries } from './raw-values.js';

/**
 * Warns of pools that another pool of their provider leaves nothing to do: it offers the same labels in the same way, goes
 * first, and has no limit of its own, so that it takes the whole quota that both share. Drivers that launch nothing have
 * no quota to share.
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

/** @param isWrittenFirst - which decides among equals */
function shadows(other: WrittenPool, own: WrittenPool, isWrittenFirst: boolean): boolean {
  if (isLimited(other.pool) || own.pool.labels.size === 0 || own.pool.maxServers <= 0) return false;
  const [theirs, ours] = [other.pool.priority ?? 100, own.pool.priority ?? 100];
  const goesFirst = theirs < ours || (theirs === ours && isWrittenFirst);
  return goesFirst && isDeepStrictEqual(settingsOf(other.entry), settingsOf(own.entry)) && offersAll(other, own);
}

function isLimited({ maxServers, maxResources }: PoolConfig): boolean {
  return Number.isFinite(maxServers) || Object.keys(maxResources).length > 0;
}

/** What a pool does with its nodes: with other networks or zones, it is there for when the first one fails. */
function settingsOf(entry: JsonObject): JsonObject {
  const isOwn = (key: string) => !['name', 'priority', 'labels'].includes(key) && !key.startsWith('max-');
  return Object.fromEntries(Object.entries(entry).filter(([key]) => isOwn(key)));
}

function offersAll(other: WrittenPool, own: WrittenPool): boolean {
  const theirs = new Map(namedEntries(other.entry['labels']).map(({ name, entry }) => [name, entry]));
  return namedEntries(own.entry['labels']).every(({ name, entry }) => isDeepStrictEqual(theirs.get(name), entry));
}
