import type { RequestExplanation } from '../launcher/plan/explanation.js';

/**
 * Merges the explanations of several launchers. For each pool, prefers the answer of its own launcher.
 * @returns `undefined` for an empty list
 */
export function mergeExplanations(explanations: readonly RequestExplanation[]): RequestExplanation | undefined {
  const [first] = explanations;
  if (!first) return undefined;
  const pools = new Map<string, RequestExplanation['pools'][number]>();
  for (const pool of explanations.flatMap((explanation) => explanation.pools)) {
    if (pool.own || !pools.has(pool.launcherId)) pools.set(pool.launcherId, pool);
  }
  return { ...first, pools: [...pools.values()] };
}
