import type { ComponentRecord } from '@nodepool/zk-protocol';
import type { Condition } from '../contract/condition.js';
import { conditionFromJson } from './condition-json.js';
import { compareConditions, conditionKey } from './condition-list.js';

/** A condition and the services that have found it, e.g. `launcher nl01`. */
export interface SharedCondition extends Condition {
  readonly services: readonly string[];
}

/** What one service has found, under the name it is shown with. */
export interface ServiceConditions {
  readonly service: string;
  readonly conditions: readonly Condition[];
}

/** What a service has published in the registry. */
export function publishedConditions({ kind, hostname, conditions = [] }: ComponentRecord): ServiceConditions {
  return {
    service: `${kind} ${hostname}`,
    conditions: conditions.flatMap((json) => conditionFromJson(json) ?? []),
  };
}

/**
 * One list of what services have found: a condition that several have found is there once, as the one says that saw it last, since
 * the earliest time that one of them knows. Errors come first.
 */
export function mergeConditions(found: Iterable<ServiceConditions>): SharedCondition[] {
  const merged = new Map<string, SharedCondition>();
  for (const { service, conditions } of found) {
    for (const condition of conditions) {
      const key = conditionKey(condition);
      const known = merged.get(key);
      merged.set(key, known ? join(known, condition, service) : { ...condition, services: [service] });
    }
  }
  return [...merged.values()].sort(compareConditions);
}

function join(known: SharedCondition, other: Condition, service: string): SharedCondition {
  const isNewer = other.status === known.status ? other.lastSeenMs > known.lastSeenMs : other.status === 'true';
  const services = [...new Set([...known.services, service])];
  return { ...known, ...(isNewer && other), sinceMs: Math.min(known.sinceMs, other.sinceMs), services };
}

/** Conditions of a service that does not answer: last known, status `unknown`. */
export function asUnknown({ service, conditions }: ServiceConditions): ServiceConditions {
  return { service, conditions: conditions.map((condition) => ({ ...condition, status: 'unknown' })) };
}

/** Subjects of interest; a condition is relevant if it is about one of them. */
export interface ConditionSubjects {
  readonly providers?: readonly string[];
  /** As `PROVIDER/POOL`. */
  readonly pools?: readonly string[];
  readonly labels?: readonly string[];
}

/**
 * Whether a condition matters for one of the subjects. Evidence narrows: one about a label in a provider matters where both are
 * looked at.
 */
export function concerns(
  { kind, name, evidence }: Pick<Condition, 'kind' | 'name' | 'evidence'>,
  { providers, pools, labels }: ConditionSubjects,
): boolean {
  const { provider, pool } = evidence;
  const about = {
    provider: kind === 'provider' ? name : provider,
    pool: kind === 'pool' ? name : pool === undefined ? undefined : `${String(provider)}/${String(pool)}`,
    label: kind === 'label' ? (evidence['label'] ?? name) : evidence['label'],
  };
  const matches = [
    [about.provider, providers],
    [about.pool, pools],
    [about.label, labels],
  ] as const;
  const asked = matches.filter(([subject, wanted]) => typeof subject === 'string' && wanted !== undefined);
  return asked.length > 0 && asked.every(([subject, wanted]) => wanted?.includes(String(subject)));
}
