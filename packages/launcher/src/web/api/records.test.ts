import { expect, it } from 'vitest';
import { node, pool, request } from '../../../test/support/world.js';
import {
  componentToApi,
  finite,
  nodeToApi,
  poolToApi,
  RECORD_SCHEMAS,
  requestToApi,
  waitingRequests,
} from './records.js';

const keys = (schema: string) => Object.keys(RECORD_SCHEMAS[schema]?.['properties'] ?? {}).sort();

it('sends exactly the members that the schemas require', () => {
  expect(Object.keys(nodeToApi(node('1'), false)).sort()).toEqual(keys('Node'));
  expect(Object.keys(requestToApi(request('200-1'), 0)).sort()).toEqual(keys('Request'));
  expect(Object.keys(poolToApi(pool(), undefined)).sort()).toEqual(keys('Pool'));
  expect(Object.keys(componentToApi(pool())).sort()).toEqual(keys('Component'));
});

it('shows no port that could be a secret', () => {
  expect(nodeToApi(node('1', { connectionPort: 22 }), false)).toMatchObject({ connection_port: 22 });
  expect(nodeToApi(node('1', { connectionPort: 'a-secret' }), false)).toMatchObject({ connection_port: 'redacted' });
});

it('has times in seconds, with null for unknown ones', () => {
  const times = { stateTimeMs: 1_500, createdTimeMs: null, holdExpirationMs: 60_000 };

  expect(nodeToApi(node('1', times), false)).toMatchObject({
    ...{ state_time: 1.5, created_time: null, hold_expiration: 60 },
  });
});

it('takes the creation time of a request from its ZooKeeper node if the record has none', () => {
  const stat = { ctime: 7_000 } as NonNullable<ReturnType<typeof request>['stat']>;

  expect(requestToApi(request('200-1', { createdTimeMs: null, stat }), null)).toMatchObject({ created_time: 7 });
});

it('lists reasons for declining by launcher', () => {
  const declineReasons = { 'nl01-a': { rule: 'labels', text: 'no label big', timeMs: 2_000 } };

  expect(requestToApi(request('200-1', { declineReasons }), null)['reasons']).toEqual([
    { launcher: 'nl01-a', rule: 'labels', text: 'no label big', time: 2 },
  ]);
});

it('orders waiting requests as launchers consider them', () => {
  const requests = [
    request('300-1'),
    request('200-2', { relativePriority: 9 }),
    request('200-3', { relativePriority: 1 }),
  ];
  const found = waitingRequests([...requests, request('100-1', { state: 'pending' })]);

  expect(found.map(({ id }) => id)).toEqual(['200-3', '200-2', '300-1']);
});

it('leaves out infinite amounts, which JSON lacks', () => {
  expect(finite({ instances: Infinity, cores: 4 })).toEqual({ cores: 4 });
});
