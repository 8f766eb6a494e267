import type { Random } from '@nodepool/core/testing';
import type { LeasePlan } from './lessee.js';
import type { JobPlan } from './zuul.js';

const maybe = (random: Random, share: number, meanMs: number) =>
  random.chance(share) ? random.exponential(meanMs) : undefined;

/** What a random job requests and does. @param providers - those to which it may be pinned */
export function jobPlan(
  random: Random,
  labels: readonly string[],
  tenants: readonly string[],
  providers: readonly { readonly name: string }[],
): JobPlan {
  return {
    labels: Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, () => random.pick(labels)),
    priority: random.pick([100, 200, 200, 300]),
    relativePriority: random.int(0, 3),
    provider: random.chance(0.1) ? random.pick(providers).name : null,
    tenantName: random.pick([null, ...tenants]),
    useMs: random.exponential(random.pick([10, 1_000, 5_000])),
    cancelAfterMs: maybe(random, 0.15, 1_000),
    reviseAfterMs: maybe(random, 0.2, 500),
    holdMs: maybe(random, 0.05, 10_000),
  };
}

/** A random lease, and what is done with it. */
export function leasePlan(random: Random, labels: readonly string[], longestMs: number): LeasePlan {
  const returnAfterMs = maybe(random, 0.7, 8_000);
  return {
    labels: Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, () => random.pick(labels)),
    priority: random.pick([100, 200, 200, 300]),
    ttlMs: random.int(1_000, longestMs),
    giveUpMs: returnAfterMs !== undefined && random.chance(0.3) ? null : random.int(1_000, 90_000),
    isRepeated: random.chance(0.2),
    returnAfterMs,
    renewAfterMs: maybe(random, 0.3, 5_000),
  };
}
