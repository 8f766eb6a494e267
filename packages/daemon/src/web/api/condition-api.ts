import type { JsonObject } from '@nodepool/zk-protocol';
import type { Condition } from '@nodepool/core/service';
import { conditionToJson, type ConditionChange, type SharedCondition } from '@nodepool/core/service';
import type { ApiEvent } from './events.js';
import { joinParts, listOf, record, TEXT, TIME, type ApiPart } from './operation.js';
import type { ServiceApi } from './service-api.js';

/** Conditions shown by a service. */
export interface ShownConditions {
  /** Conditions of all services. */
  readonly merged: readonly SharedCondition[];
  onChange(listener: (change: ConditionChange) => void): () => void;
}

const SCHEMA = record({
  ...{ kind: TEXT, name: TEXT, type: TEXT, reason: TEXT, message: TEXT, next_step: TEXT },
  ...{
    status: { type: 'string', enum: ['true', 'unknown'] },
    severity: { type: 'string', enum: ['error', 'warning'] },
  },
  ...{ evidence: { type: 'object' }, since: TIME, last_seen: TIME, services: listOf(TEXT) },
});

/** Adds conditions to the API of a service: an operation, a part of the overview, and events. */
export function withConditions(api: ServiceApi, conditions: ShownConditions): ServiceApi {
  return {
    ...joinParts(api, conditionPart(conditions)),
    overview: () => ({ ...api.overview(), conditions: conditions.merged.map(overviewOf) }),
    subscribe(notify) {
      const ends = [api.subscribe(notify), conditions.onChange((change) => changed(change, notify))];
      return () => ends.forEach((end) => end());
    },
  };
}

function conditionPart(conditions: ShownConditions): ApiPart {
  const summary = 'Current conditions of all services, errors first';
  return {
    operations: [
      {
        ...{ id: 'listConditions', method: 'GET', path: '/conditions', summary },
        answer: listOf({ $ref: '#/components/schemas/Condition' }),
        handle: () => conditions.merged.map(conditionToApi),
      },
    ],
    schemas: { Condition: SCHEMA },
  };
}

/** Converts a condition to the schema `Condition`. */
export function conditionToApi(condition: SharedCondition): JsonObject {
  return { ...conditionToJson(condition), services: [...condition.services] };
}

/** Leaves out `last_seen`, as an overview must not change with time alone. */
function overviewOf(condition: SharedCondition): JsonObject {
  const { last_seen: _time, ...others } = conditionToApi(condition);
  return others;
}

function changed({ began, ended }: ConditionChange, notify: (event: ApiEvent) => void): void {
  for (const condition of [...began, ...ended]) notify(eventOf(condition));
}

function eventOf(condition: Condition) {
  const { kind, name, type } = condition;
  return { type: 'condition' as const, id: `${kind}/${name}/${type}`, data: () => conditionToJson(condition) };
}
