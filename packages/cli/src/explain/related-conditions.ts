import type { JsonObject } from '@nodepool/zk-protocol';
import type { RequestExplanation } from '@nodepool/core/launcher';
import { concerns, conditionFromJson, mergeConditions, type SharedCondition } from '@nodepool/core/service';
import { conditionText, nextStepText } from '../conditions/condition-text.js';

const ANSWER_MS = 3_000;

/** Conditions that matter for a request: of its labels, and of the pools and providers that have them. */
export function relatedConditions(
  { labels, pools }: Pick<RequestExplanation, 'labels' | 'pools'>,
  conditions: readonly SharedCondition[],
): SharedCondition[] {
  const having = pools.filter(({ details }) => !('missing' in details));
  const subjects = {
    labels,
    providers: having.map(({ provider }) => provider),
    pools: having.map(({ provider, pool }) => `${provider}/${pool}`),
  };
  return conditions.filter((condition) => concerns(condition, subjects));
}

/** The same as lines below an explanation; none: nothing. */
export function conditionLines(conditions: readonly SharedCondition[], nowMs: number): string[] {
  if (conditions.length === 0) return [];
  return [
    '',
    'What is wrong',
    ...conditions.flatMap((each) => [`  ${each.severity}: ${conditionText(each, nowMs)}`, `    ${nextStepText(each)}`]),
  ];
}

/** What launchers say is wrong; one that does not answer is left out. */
export async function askConditions(urls: readonly string[]): Promise<SharedCondition[]> {
  const answers = await Promise.all(urls.map(ask));
  const own = answers.flat().flatMap((json) => {
    const condition = conditionFromJson(json);
    const services = Array.isArray(json['services']) ? json['services'].map(String) : [];
    return condition ? services.map((service) => ({ service, conditions: [condition] })) : [];
  });
  return mergeConditions(own);
}

async function ask(url: string): Promise<JsonObject[]> {
  try {
    const target = new URL('api/v1/conditions', url.endsWith('/') ? url : `${url}/`);
    const response = await fetch(target, { signal: AbortSignal.timeout(ANSWER_MS) });
    return response.ok ? ((await response.json()) as JsonObject[]) : [];
  } catch {
    return []; // whoever does not answer has been named with the explanation
  }
}
