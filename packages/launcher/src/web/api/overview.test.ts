import type { NodeId } from '@nodepool/zk-protocol';
import { beforeEach, expect, it } from 'vitest';
import type { RequestExplanation } from '@nodepool/core/launcher';
import { node, OWN_POOL, pool, request, World } from '../../../test/support/world.js';
import { labelsWithConditions, launcherOverview, poolsToApi } from './overview.js';

type Pool = RequestExplanation['pools'][number];

let world: World;

beforeEach(() => {
  world = new World();
});

function ask(id: string, pools: Partial<Pool>[], state: 'requested' | 'pending' = 'requested'): void {
  const record = request(id, { state });
  world.requests.set(id, record);
  world.explanations.set(id, {
    ...{ requestId: id, state, labels: record.labels, requestor: null, tenant: null, nodes: [], ageMs: 0 },
    ...{ launchError: null, launches: [] },
    pools: pools.map(
      (each) => ({ provider: 'rack', pool: 'main', text: 'full', position: 0, blockers: [], ...each }) as Pool,
    ),
  });
}
const requests = () => launcherOverview(world.sources)['requests'];

it('shows accepted requests before waiting ones, with the reason, and counts the rest', () => {
  ask('200-1', [{ action: 'wait', rule: 'pool-full' }]);
  ask('200-2', [{ action: 'handling', rule: 'accept' }], 'pending');
  for (let i = 0; i < 100; i++) world.requests.set(`300-${i}`, request(`300-${i}`));

  expect(requests()).toMatchObject({
    ...{ waiting: 101, pending: 1 },
    shown: [
      { id: '200-2', position: null },
      { id: '200-1', position: 0, why: expect.stringContaining('full') as string },
      ...Array.from({ length: 49 }, () => ({ why: '' })),
    ],
  });
});

it('counts for which pools requests wait, most first; a request that proceeds does not wait', () => {
  ask('200-1', [{ action: 'wait', rule: 'pool-full' }]);
  ask('200-2', [{ action: 'decline' }, { provider: 'sky', action: 'handling', rule: 'pool-full' }], 'pending');
  ask('200-3', [{ provider: 'sky', action: 'wait', rule: 'pool-full' }]);
  ask('200-4', [{ provider: 'sky', action: 'handling', rule: 'accept' }], 'pending');

  expect(requests()).toMatchObject({
    waits: [
      { pool: 'sky/main', count: 2 },
      { pool: 'rack/main', count: 1 },
    ],
  });
});

it('lists errors of providers, deletions and launches', () => {
  world.providerErrors = [{ provider: 'sky', error: 'no login' }];
  world.failingDeletions = [
    {
      nodeId: '7' as NodeId,
      attempts: 3,
      error: undefined,
      reason: undefined,
      failedMs: undefined,
      nextTryMs: undefined,
    },
  ];
  world.activity.nodeChanged(undefined, node('8', { launchError: 'no quota' }));

  expect(launcherOverview(world.sources)['errors']).toMatchObject([
    { provider: 'sky', text: 'no login' },
    { node: '7', text: expect.stringContaining('Deletion failed 3 times') as string },
    { node: '8', text: 'no quota' },
  ]);
});

it('has figures for pools of this launcher only', () => {
  const other = pool({ id: 'p2', launcherId: 'nl02-PoolWorker.rack-main-0' as never });
  world.components = [pool(), other];
  const load = { handling: 1, waiting: 2, paused: 0, maxServers: Infinity, used: { instances: 1 }, reservations: [] };
  world.poolStatus = [
    { launcherId: OWN_POOL, ...load, providerUsed: {}, providerLimits: undefined } as unknown as World['poolStatus'][0],
  ];

  expect(poolsToApi(world.sources)).toMatchObject([
    { own: true, handling: 1, max_servers: null, used: { instances: 1 }, provider_limits: null },
    { own: false, handling: null, used: null },
  ]);
});

it('shows supply and demand of each label, with its conditions', () => {
  world.nodes.set('1', node('1'));
  ask('200-1', []);
  world.conditions.push({
    ...{ kind: 'label', name: 'big', type: 'NotServed', status: 'true', severity: 'error', reason: 'NoNodes' },
    ...{ message: 'no node', nextStep: '', evidence: {}, sinceMs: 0, lastSeenMs: 0, services: ['launcher nl01'] },
  });

  expect(labelsWithConditions(world.sources)).toMatchObject([
    { label: 'big', ready: 0, waiting: 1, conditions: [{ type: 'NotServed' }] },
    { label: 'small', ready: 1, waiting: 1, conditions: [] },
  ]);
});
