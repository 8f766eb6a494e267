import type { Resources } from '@nodepool/zk-protocol';

/**
 * Resource arithmetic. Amounts are kept by name; a name that is missing counts as 0 in a need or a use and as
 * unlimited in a limit (source: Nodepool's QuotaInformation).
 */

/** `a + b`, over the names of both. */
export function addResources(a: Resources, b: Resources): Resources {
  const sum: Resources = { ...a };
  for (const name in b) sum[name] = (sum[name] ?? 0) + (b[name] ?? 0);
  return sum;
}

/** Adds `amount * factor` to `target` in place; names that reach zero stay. */
export function accumulate(target: Resources, amount: Resources, factor = 1): void {
  for (const name in amount) target[name] = (target[name] ?? 0) + factor * (amount[name] ?? 0);
}

/** What is missing of a name in a limit is unlimited; the result names only what was limited. */
export function subtractFromLimit(limit: Resources, use: Resources): Resources {
  const rest: Resources = {};
  for (const name in limit) rest[name] = (limit[name] ?? Infinity) - (use[name] ?? 0);
  return rest;
}

/** A resource of which too little is there. */
export interface Shortage {
  resource: string;
  needed: number;
  available: number;
}

/**
 * First resource of `need` that exceeds `rest`, or `undefined` when everything fits. A resource of which nothing is
 * needed does not stand in the way: what of it is kept for others may be more than there is. See {@link findOverrun}.
 */
export function findShortage(need: Resources, rest: Resources): Shortage | undefined {
  for (const resource in need) {
    const needed = need[resource] ?? 0;
    const available = rest[resource] ?? Infinity;
    if (needed > 0 && available < needed) return { resource, needed, available };
  }
  return undefined;
}

/** First resource of which more is used than there is: nothing may be added then, whatever it needs itself. */
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
 * Counted by labels, and never by what records say: to a launcher of the original a resource that it does not know has the
 * limit 0, so that a record with it stops all launches of the provider there.
 */
const UNSTORED = new Set(['ports']);

/** The amounts that a record may have. */
export function storedPart(resources: Resources): Resources {
  return partOf(resources, (name) => !UNSTORED.has(name));
}

/** The amounts that no record has. */
export function unstoredPart(resources: Resources): Resources {
  return partOf(resources, (name) => UNSTORED.has(name));
}

/** The same object where it is all of it. */
function partOf(resources: Resources, isIn: (name: string) => boolean): Resources {
  for (const name in resources) {
    if (!isIn(name)) return Object.fromEntries(Object.entries(resources).filter(([each]) => isIn(each)));
  }
  return resources;
}
