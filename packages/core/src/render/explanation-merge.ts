import type { RequestExplanation, FreeNodesExplanation } from '../launcher/plan/explanation.js';

/**
 * Merges the explanations of several launchers. For each pool, prefers the answer of its own launcher, and for free
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
  const kept = new Map<string, FreeNodesExplanation>();
  for (const each of explanations.flatMap((explanation) => explanation.freeNodes ?? [])) {
    if (each.decides || !kept.has(each.label)) kept.set(each.label, each);
  }
  return { ...first, pools: [...pools.values()], ...(kept.size > 0 && { freeNodes: [...kept.values()] }) };
}
