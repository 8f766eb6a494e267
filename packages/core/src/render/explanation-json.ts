import type { Json, JsonObject } from '@nodepool/zk-protocol';
import type { Condition } from '../contract/condition.js';
import { RULES } from '../launcher/plan/types.js';
import type { LaunchExplanation, PoolExplanation, RequestExplanation } from '../launcher/plan/explanation.js';
import { conditionToJson } from '../conditions/condition-json.js';
import { freeNodesFromJson, freeNodesToJson } from './explained-free-nodes.js';
import { summarizeExplanation } from './explanation-summary.js';
import { sortPools } from './explanation-text.js';
import { relatedConditions } from './related-conditions.js';

const MS_PER_SECOND = 1000;
const ACTIONS = ['accept', 'wait', 'yield', 'defer', 'decline', 'skip', 'handling', 'foreign'] as const;

/**
 * Explanation as in `/explain` and `nodepool explain --json`.
 * @param conditions - all active conditions, of any subject
 */
export function explanationToJson(explanation: RequestExplanation, conditions: readonly Condition[] = []): JsonObject {
  const related = relatedConditions(explanation, conditions);
  return {
    request: explanation.requestId ?? null,
    summary: summarizeExplanation(explanation, related),
    state: explanation.state,
    labels: [...explanation.labels],
    requestor: explanation.requestor,
    tenant_name: explanation.tenant,
    nodes: [...explanation.nodes],
    age: explanation.ageMs === undefined ? null : explanation.ageMs / MS_PER_SECOND,
    launch_error: explanation.launchError,
    pools: sortPools(explanation.pools).map(poolToJson),
    launches: explanation.launches.map(launchToJson),
    ...freeNodesToJson(explanation),
    conditions: related.map(conditionToJson),
  };
}

function poolToJson(pool: PoolExplanation): JsonObject {
  return {
    provider: pool.provider,
    pool: pool.pool,
    launcher: pool.launcherId,
    own: pool.own,
    action: pool.action,
    rule: pool.rule ?? null,
    text: pool.text,
    details: Object.fromEntries(Object.entries(pool.details).map(([name, value]) => [name, toJson(value)])),
    position: pool.position ?? null,
    remedy: pool.remedy,
    blockers: [...pool.blockers],
  };
}

function launchToJson({ nodeId, provider, pool, labels, state, ageMs, error, trial }: LaunchExplanation): JsonObject {
  const age = ageMs / MS_PER_SECOND;
  return { node: nodeId, provider, pool, labels: [...labels], state, age, error, trial };
}

function toJson(value: PoolExplanation['details'][string]): Json {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  return typeof value === 'string' || typeof value === 'boolean' ? value : [...value];
}

/** Parses the output of {@link explanationToJson}, possibly of another release. @returns `undefined` for anything else */
export function explanationFromJson(value: unknown): RequestExplanation | undefined {
  if (!isObject(value) || !Array.isArray(value['pools']) || typeof value['state'] !== 'string') return undefined;
  const pools = value['pools'].map(poolFromJson);
  if (!pools.every((pool) => pool !== undefined)) return undefined;
  const ageS = value['age'];
  return {
    requestId: textOf(value['request']) ?? undefined,
    state: value['state'],
    labels: textsOf(value['labels']),
    requestor: textOf(value['requestor']),
    tenant: textOf(value['tenant_name']),
    nodes: textsOf(value['nodes']),
    ageMs: typeof ageS === 'number' ? ageS * MS_PER_SECOND : undefined,
    launchError: textOf(value['launch_error']),
    pools,
    launches: Array.isArray(value['launches']) ? value['launches'].flatMap(launchFromJson) : [],
    ...freeNodesFromJson(value as JsonObject),
  };
}

function launchFromJson(value: unknown): LaunchExplanation[] {
  if (!isObject(value)) return [];
  const [nodeId, state] = [textOf(value['node']), textOf(value['state'])];
  if (nodeId === null || state === null) return [];
  const ageS = value['age'];
  return [
    {
      nodeId,
      state,
      provider: textOf(value['provider']),
      pool: textOf(value['pool']),
      labels: textsOf(value['labels']),
      ageMs: typeof ageS === 'number' ? ageS * MS_PER_SECOND : 0,
      error: textOf(value['error']),
      trial: textOf(value['trial']),
    },
  ];
}

function poolFromJson(value: unknown): PoolExplanation | undefined {
  if (!isObject(value)) return undefined;
  const action = ACTIONS.find((name) => name === value['action']);
  const [provider, pool, launcherId] = [value['provider'], value['pool'], value['launcher']].map(textOf);
  if (!action || !provider || !pool || !launcherId) return undefined;
  const position = value['position'];
  return {
    provider,
    pool,
    launcherId,
    own: value['own'] === true,
    action,
    rule: RULES.find((name) => name === value['rule']),
    text: textOf(value['text']) ?? '',
    remedy: textOf(value['remedy']) ?? '',
    details: detailsOf(value['details']),
    position: typeof position === 'number' ? position : undefined,
    blockers: textsOf(value['blockers']),
  };
}

function detailsOf(value: unknown): PoolExplanation['details'] {
  if (!isObject(value)) return {};
  const details: Record<string, PoolExplanation['details'][string]> = {};
  for (const [name, detail] of Object.entries(value)) {
    if (Array.isArray(detail)) details[name] = textsOf(detail);
    else if (typeof detail === 'string' || typeof detail === 'number' || typeof detail === 'boolean') {
      details[name] = detail;
    }
  }
  return details;
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
