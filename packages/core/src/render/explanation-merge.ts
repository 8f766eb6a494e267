import type { RequestExplanation, StandbyExplanation } from '../launcher/plan/explanation.js';

/**
 * Merges the explanations of several launchers. For each pool, prefers the answer of its own launcher, and for standby
 * nodes that of the launcher that keeps them.
 * @returns `undefined` for an empty list
 */
export function mergeExplanations(explanations: readonly RequestExplanation[]): RequestExplanation | undefined {
  const [first] = explanations;
  if (!first) return undefined;
  const pools = new Map<string, RequestExplanation['pools'][number]>();
  for (const pool of explanations.flatMap((explanation) => explanation.pools)) {
    if (pool.own || !pools.has(pool.launcherId)) pools.set(pool.launcherId, pool);
  }
  const standby = new Map<string, StandbyExplanation>();
  for (const each of explanations.flatMap((explanation) => explanation.standby ?? [])) {
    if (each.decides || !standby.has(each.label)) standby.set(each.label, each);
  }
  return { ...first, pools: [...pools.values()], ...(standby.size > 0 && { standby: [...standby.values()] }) };
}
