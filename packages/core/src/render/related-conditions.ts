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

/** Condition that prevents a pool from launching nodes of one of the labels: one of its provider, or of the label there. */
export function brokenPool(
  { provider }: Pick<PoolExplanation, 'provider'>,
  labels: readonly string[],
  conditions: readonly Condition[],
): Condition | undefined {
  const own = conditions.filter(({ name }) => name === provider);
  const ofLabels = labels.map((label) =>
    conditions.find((each) => isNow(each, 'LabelLaunchesFail') && each.name === `${provider}/${label}`),
  );
  const ofProvider = BREAKING.map((type) => own.find((each) => isNow(each, type)));
  return [...ofProvider, ...ofLabels].find((each) => each !== undefined);
}

function isNow({ type, status }: Condition, wanted: string): boolean {
  return type === wanted && status === 'true';
}
