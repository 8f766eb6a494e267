import { beforeEach, expect, it } from 'vitest';
import type { ConditionChange, SharedCondition } from '@nodepool/core/service';
import { withConditions, type ShownConditions } from './condition-api.js';
import type { ApiEvent } from './events.js';
import type { ServiceApi } from './service-api.js';

const CONDITION: SharedCondition = {
  ...{ kind: 'provider', name: 'sky', type: 'Failing', status: 'true', severity: 'error', reason: 'Quota' },
  ...{ message: 'no quota', nextStep: 'ask for more', evidence: {}, sinceMs: 1_000, lastSeenMs: 2_000 },
  services: ['launcher nl01', 'launcher nl02'],
};

let listeners: Set<(change: ConditionChange) => void>;
let subscribers: Set<unknown>;
let conditions: ShownConditions;
let api: ServiceApi;

beforeEach(() => {
  listeners = new Set();
  subscribers = new Set();
  conditions = {
    merged: [CONDITION],
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const inner: ServiceApi = {
    ...{ operations: [], schemas: {}, overview: () => ({ nodes: 1 }) },
    subscribe(listener) {
      subscribers.add(listener);
      return () => subscribers.delete(listener);
    },
  };
  api = withConditions(inner, conditions);
});

it('adds an operation that lists the conditions of all services', async () => {
  const [operation = expect.fail()] = api.operations;

  expect(await operation.handle({ path: {}, query: {}, body: {}, actor: undefined })).toEqual([
    expect.objectContaining({ since: 1, last_seen: 2, next_step: 'ask for more', services: CONDITION.services }),
  ]);
});

it('shows conditions in the overview without the time they were last seen, which changes constantly', () => {
  const overview = api.overview();

  expect(overview).toMatchObject({ nodes: 1, conditions: [{ name: 'sky', since: 1 }] });
  expect(JSON.stringify(overview)).not.toContain('last_seen');
});

it('emits an event when a condition begins or ends, until unsubscribed', () => {
  const events: ApiEvent[] = [];
  const end = api.subscribe((event) => events.push(event));
  for (const emit of listeners) emit({ began: [CONDITION], ended: [{ ...CONDITION, name: 'rack' }], hasChanged: true });
  end();

  expect(events.map(({ type, id }) => [type, id])).toEqual([
    ['condition', 'provider/sky/Failing'],
    ['condition', 'provider/rack/Failing'],
  ]);
  expect([listeners.size, subscribers.size]).toEqual([0, 0]);
});
