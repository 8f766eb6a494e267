import { beforeEach, expect, it } from 'vitest';
import { requestPath, type RequestRecord } from '@nodepool/zk-protocol';
import type { RequestExplanation } from '@nodepool/core/launcher';
import { call, request, World } from '../../../test/support/world.js';
import { requestOperations } from './request-operations.js';

let world: World;

beforeEach(() => {
  world = new World();
  for (const each of [
    request('200-2', { relativePriority: 9 }),
    request('200-1', { relativePriority: 1 }),
    request('200-3', { state: 'pending' }),
  ])
    world.requests.set(each.id, each);
});

const run = (id: string, changes: Parameters<typeof call>[2] = {}) =>
  call(requestOperations(world.sources), id, changes);
const explanation: RequestExplanation = {
  ...{ requestId: '200-2', state: 'requested', labels: ['small'], requestor: null, tenant: null, nodes: [] },
  ...{ ageMs: undefined, launchError: null, pools: [], launches: [] },
};

it('lists requests with their position in the queue; accepted ones have none', async () => {
  const found = (await run('listRequests')) as { id: string; position: number | null }[];

  expect(Object.fromEntries(found.map(({ id, position }) => [id, position]))).toEqual({
    ...{ '200-1': 0, '200-2': 1, '200-3': null },
  });
  expect(await run('listRequests', { query: { state: 'pending' } })).toMatchObject([{ id: '200-3' }]);
  await expect(run('listRequests', { query: { state: 'bogus' } })).rejects.toMatchObject({ status: 400 });
});

it('explains one request', async () => {
  world.explanations.set('200-2', explanation);

  expect(await run('getRequest', { path: { id: '200-2' } })).toMatchObject({
    request: { id: '200-2', position: 1 },
    explanation: { state: 'requested', pools: [] },
  });
});

it('fails with 404 for an unknown request, and for one that is deleted while it is explained', async () => {
  await expect(run('getRequest', { path: { id: 'none' } })).rejects.toMatchObject({ status: 404 });
  await expect(run('getRequest', { path: { id: '200-1' } })).rejects.toMatchObject({ code: 'unknown-request' });
});

it('cancels a request by deleting its record, once', async () => {
  const id = '200-1' as RequestRecord['id'];
  await world.zk.ensurePath(requestPath(id));

  expect(await run('cancelRequest', { path: { id } })).toMatchObject({ id });
  expect(await world.zk.exists(requestPath(id))).toBeUndefined();
  await expect(run('cancelRequest', { path: { id } })).rejects.toMatchObject({ status: 404, code: 'unknown-request' });
});
