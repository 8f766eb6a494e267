import { textOf, type Json, type JsonObject } from '@nodepool/zk-protocol';
import type { Condition, ConditionKind } from '../contract/condition.js';

const MS_PER_SECOND = 1_000;

/** A condition as the registry, the web and commands show it; times are UNIX times in seconds. */
export function conditionToJson(condition: Condition): JsonObject {
  const { kind, name, type, status, severity, reason, message, nextStep, evidence } = condition;
  return {
    ...{ kind, name, type, status, severity, reason, message, next_step: nextStep, evidence: { ...evidence } },
    since: condition.sinceMs / MS_PER_SECOND,
    last_seen: condition.lastSeenMs / MS_PER_SECOND,
  };
}

/** @returns `undefined` for what no release writes as a condition; one of an unknown kind or type is kept */
export function conditionFromJson(json: JsonObject): Condition | undefined {
  const { kind, name, type, since, last_seen: lastSeen } = json;
  if (typeof kind !== 'string' || typeof name !== 'string' || typeof type !== 'string') return undefined;
  if (typeof since !== 'number') return undefined;
  return {
    ...{ kind: kind as ConditionKind, name, type },
    status: json.status === 'unknown' ? 'unknown' : 'true',
    severity: json.severity === 'error' ? 'error' : 'warning',
    reason: textOf(json.reason) ?? '',
    message: textOf(json.message) ?? '',
    nextStep: textOf(json.next_step) ?? '',
    evidence: evidenceOf(json.evidence),
    sinceMs: since * MS_PER_SECOND,
    lastSeenMs: (typeof lastSeen === 'number' ? lastSeen : since) * MS_PER_SECOND,
  };
}

function evidenceOf(value: Json | undefined): Condition['evidence'] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {};
  const plain = Object.entries(value).filter(([, each]) => typeof each !== 'object' || each === null);
  return Object.fromEntries(plain) as Condition['evidence'];
}
