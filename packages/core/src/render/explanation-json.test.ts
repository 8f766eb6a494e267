import { expect, it } from 'vitest';
import { explanationFromJson, explanationToJson } from './explanation-json.js';
import type { RequestExplanation } from '../launcher/plan/explanation.js';

const EXPLANATION: RequestExplanation = {
  ...{ requestId: '200-0000000001', state: 'requested', labels: ['big'], requestor: 'zuul', tenant: 'one' },
  ...{ nodes: [], ageMs: 61_500, launchError: null, launches: [] },
  pools: [
    {
      ...{ provider: 'sky', pool: 'main', launcherId: 'nl01', own: true, action: 'wait', rule: 'max-concurrency' },
      ...{ text: 'at quota', details: { resource: 'cores', limit: Infinity, labels: ['big'] } },
      ...{ position: 2, remedy: 'wait', blockers: ['host1 is down'] },
    },
  ],
};

it('writes seconds, and null for infinite numbers', () => {
  const json = explanationToJson(EXPLANATION);

  expect(json).toMatchObject({ request: '200-0000000001', age: 61.5, tenant_name: 'one' });
  expect(json).toMatchObject({ pools: [{ details: { resource: 'cores', limit: null, labels: ['big'] } }] });
});

it('survives a JSON round trip', () => {
  const json: unknown = JSON.parse(JSON.stringify(explanationToJson(EXPLANATION)));

  expect(explanationFromJson(json)).toMatchObject({
    ...EXPLANATION,
    pools: [{ ...EXPLANATION.pools[0], details: { resource: 'cores', labels: ['big'] } }],
  });
});

it.each([null, [], { state: 'requested' }, { state: 5, pools: [] }, { state: 'requested', pools: [5] }])(
  'takes %j for no explanation',
  (value) => {
    expect(explanationFromJson(value)).toBeUndefined();
  },
);

it('keeps the standby nodes of labels in a JSON round trip', () => {
  const standby = [{ label: 'big', nodes: 7, ready: 5, reason: 'demand', isFallback: false, decides: true }];
  const json: unknown = JSON.parse(JSON.stringify(explanationToJson({ ...EXPLANATION, freeNodes: standby })));

  expect(explanationFromJson(json)?.freeNodes).toEqual(standby);
});
