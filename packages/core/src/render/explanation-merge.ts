import type { RequestExplanation } from '../launcher/plan/explanation.js';

/**
 * One explanation from those of several launchers: of each pool the word of its own launcher, where that has answered.
 * @returns `undefined` for none
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
