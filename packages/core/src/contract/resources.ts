import type { Resources } from '@nodepool/zk-protocol';

/**
 * Resource arithmetic. Amounts are kept by name; a name that is missing counts as 0 in a need or a use and as
 * unlimited in a limit (source: Nodepool's QuotaInformation).
 */

/** Adds `amount * factor` to `target` in place; names that reach zero stay. */
export function accumulate(target: Resources, amount: Resources, factor = 1): void {
  for (const name in amount) target[name] = (target[name] ?? 0) + factor * (amount[name] ?? 0);
}

/** Remaining amounts of a limit; only names that the limit has are limited. */
export function subtractFromLimit(limit: Resources, use: Resources): Resources {
  const rest: Resources = {};
  for (const name in limit) rest[name] = (limit[name] ?? Infinity) - (use[name] ?? 0);
  return rest;
}

/** A resource of which too little is available. */
export interface Shortage {
  resource: string;
  needed: number;
  available: number;
}

/**
 * First resource of `need` that exceeds `rest`, or `undefined` when everything fits. A resource that is not needed is not
 * compared: reservations may exceed its limit. See {@link findOverrun}.
 */
export function findShortage(need: Resources, rest: Resources): Shortage | undefined {
  for (const resource in need) {
    const needed = need[resource] ?? 0;
    const available = rest[resource] ?? Infinity;
    if (needed > 0 && available < needed) return { resource, needed, available };
  }
  return undefined;
}

/** First resource that is used beyond its limit: then nothing may be added, not even a node that needs none of it. */
export function findOverrun(rest: Resources): Shortage | undefined {
  for (const resource in rest) {
    const available = rest[resource] ?? Infinity;
    if (available < 0) return { resource, needed: 0, available };
  }
  return undefined;
}

/** Sum of the needs of a list of labels. */
export function sumResources(needs: Iterable<Resources>): Resources {
  const sum: Resources = {};
  for (const need of needs) accumulate(sum, need);
  return sum;
}

/**
 * Resources that are counted by labels and never stored in records. A launcher of the original gives a resource that it does not
 * know the limit 0, so a record with it would stop all launches of the provider there.
 */
const UNSTORED = new Set(['ports', 'floating-ips']);

/** Amounts that may be stored in a record; the same object if all may, which saves a copy for most nodes. */
export function storedPart(resources: Resources): Resources {
  for (const name in resources) {
    if (UNSTORED.has(name))
      return Object.fromEntries(Object.entries(resources).filter(([each]) => !UNSTORED.has(each)));
  }
  return resources;
}

/** Amounts that are never stored in a record. */
export function unstoredPart(resources: Resources): Resources {
  const part: Resources = {};
  for (const name of UNSTORED) {
    const amount = resources[name];
    if (amount !== undefined) part[name] = amount;
  }
  return part;
}
