import { concerns } from '../conditions/merge-conditions.js';
import type { Condition } from '../contract/condition.js';
import type { PoolExplanation, RequestExplanation } from '../launcher/plan/explanation.js';

/**
 * Conditions that matter for a request: of its labels, and of the pools and providers that have them. Hosts are left out: a pool
 * has them as what hinders it.
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

/** That a service has found that no pool can serve one of the labels now. */
export function unservedLabel(labels: readonly string[], conditions: readonly Condition[]): Condition | undefined {
  return conditions.find((each) => isNow(each, 'NotServed') && labels.includes(each.name));
}

/** Why the provider of a pool makes no nodes. */
export function brokenProvider(
  { provider }: Pick<PoolExplanation, 'provider'>,
  conditions: readonly Condition[],
): Condition | undefined {
  return conditions.find(
    (each) => each.name === provider && (isNow(each, 'NotStarted') || isNow(each, 'LaunchesFail')),
  );
}

function isNow({ type, status }: Condition, wanted: string): boolean {
  return type === wanted && status === 'true';
}
