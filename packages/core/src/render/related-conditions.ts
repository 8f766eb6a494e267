import { concerns } from '../conditions/merge-conditions.js';
import type { Condition } from '../contract/condition.js';
import type { PoolExplanation, RequestExplanation } from '../launcher/plan/explanation.js';

/**
 * Conditions relevant to a request: those of its labels, and of the pools and providers that offer them. Omits hosts, which
 * are among the blockers of a pool.
 */
export function relatedConditions<T extends Condition>(
  { labels, pools }: Pick<RequestExplanation, 'labels' | 'pools'>,
  conditions: readonly T[],
): T[] {
  const having = pools.filter(({ details }) => !('missing' in details));
  const subjects = {
    labels,
    providers: having.map(({ provider }) => provider),
    pools: having.map(({ provider, pool }) => `${provider}/${pool}`),
  };
  return conditions.filter((condition) => condition.kind !== 'host' && concerns(condition, subjects));
}

/** Condition that no pool can serve one of the labels now. */
export function unservedLabel(labels: readonly string[], conditions: readonly Condition[]): Condition | undefined {
  return conditions.find((each) => isNow(each, 'NotServed') && labels.includes(each.name));
}

/** Types of conditions that prevent a provider from launching nodes, the plainest first. */
const BREAKING = ['NotStarted', 'LoginRefused', 'CallsUnanswered', 'LaunchesFail'];

/** Condition that prevents the provider of a pool from launching nodes. */
export function brokenProvider(
  { provider }: Pick<PoolExplanation, 'provider'>,
  conditions: readonly Condition[],
): Condition | undefined {
  const own = conditions.filter(({ name }) => name === provider);
  return BREAKING.map((type) => own.find((each) => isNow(each, type))).find((each) => each !== undefined);
}

function isNow({ type, status }: Condition, wanted: string): boolean {
  return type === wanted && status === 'true';
}
