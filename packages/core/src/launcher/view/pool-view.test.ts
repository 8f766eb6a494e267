import {
  encodeRequest,
  newRequest,
  REQUESTS_ROOT,
  type LauncherId,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { launchingDrivers, LauncherRooms } from '../../../test/support/launcher-rooms.js';
import { configOf } from '../../../test/support/serving-config.js';
import { poolConfig } from '../../../test/support/pool-config.js';
import type { Provider, QuotaSupport } from '../../contract/driver.js';
import { newCondition } from '../../contract/condition.js';
import { CONDITIONS } from '../../contract/driver-conditions.js';
import { ProviderUnavailableError } from '../../contract/errors.js';
import { FIRST_POOL_PAUSE_MS } from '../plan/first-pool.js';

const main = poolConfig('main', ['a', 'b']);
const other = poolConfig('other', ['b']);

function requestOf(id: string, ...labels: string[]): RequestRecord {
  return { ...newRequest({ labels }, 0), id: id as RequestId };
}

/** Pools `main` and `other` of provider `p`. @param changes - of the provider */
async function setUp(changes: Partial<Provider> = {}, config = configOf(main, other)) {
  const rooms = await LauncherRooms.open(config, launchingDrivers(changes));
  const [view, beside] = rooms.views.all;
  if (!view || !beside) throw new Error('there are no pools');
  return { rooms, view, beside, world: rooms.world };
}

describe('a pool', () => {
  it('has the priority of its configuration, or else that of its provider', async () => {
    const { view } = await setUp();
    const before = view.priority;

    view.use(view.runner, { ...main, priority: 7 });

    expect([before, view.priority, view.pool.priority]).toEqual([100, 7, 7]);
  });

  it('knows that the cloud refuses the credentials', async () => {
    const texts = { message: 'keystone answered with 401', nextStep: 'correct the password' };
    const refused = newCondition(CONDITIONS, 'LoginRefused', { name: 'p', reason: 'Unauthorized', ...texts });
    const { view } = await setUp({ conditions: () => [refused] });

    expect(view.quota.loginRefused).toMatchObject(texts);
  });

  it('yields its precedence while requests wait in it, it accepts nothing, or its provider fails', async () => {
    const { view, rooms } = await setUp();
    const request = requestOf('200-0000000001', 'a');
    const well = view.yieldsPrecedence;

    view.demand.atWork.set(request.id, {
      request,
      paused: { request, missing: ['a'], az: null },
      acceptsNode: () => true,
    });
    view.demand.countPaused();
    const paused = [view.paused, view.yieldsPrecedence];
    view.demand.atWork.clear();
    view.demand.countPaused();
    for (let i = 0; i < 3; i++) rooms.tryLaunch('a', new ProviderUnavailableError('the cloud hangs'));

    expect([well, ...paused, view.paused, view.yieldsPrecedence]).toEqual([false, true, true, false, true]);
  });

  it('is limited in its launches only where the provider is steered', async () => {
    const { view, world } = await setUp();
    const steered = view.steering !== undefined;
    const { config } = world.context;

    config.now = { ...config.now, steering: false };

    expect([steered, view.steering, view.launchLimit]).toEqual([true, undefined, Infinity]);
  });

  it('knows limits from its driver, and what is used from records', async () => {
    const quota: QuotaSupport = {
      quotaNeededByLabel: (label) => ({ instances: label === 'b' ? 2 : 1 }),
      estimatedNodepoolQuota: () => ({ instances: 10 }),
      invalidateQuotaCache: () => undefined,
    };
    const { view, world } = await setUp({ quota });
    await world.createNode({ resources: { instances: 1 } });
    await world.createNode({ resources: { instances: 2 }, labels: ['b'], pool: 'other' });

    const { quota: seen } = view;
    expect([seen.providerTotal, seen.providerUsed, seen.poolUsed]).toEqual([
      { instances: 10 },
      { instances: 3 },
      { instances: 1 },
    ]);
    expect(seen.need('b')).toEqual({ instances: 2 });
    expect((await setUp()).view.quota.providerTotal).toEqual({});
  });

  it('asks the driver whether a node can serve a request, that of the request at work first', async () => {
    const accepted = { byDriver: false, byWork: true };
    const getRequestHandler = () => ({ imagesAvailable: () => true, acceptsNode: () => accepted.byDriver });
    const { view, world } = await setUp({ getRequestHandler });
    const node = world.context.mirror.nodes.get(await world.createNode({}));
    if (!node) throw new Error('the node is not there');
    const request = requestOf('200-0000000001', 'a');
    const before = view.acceptsNode(request, node);

    view.demand.atWork.set(request.id, { request, paused: undefined, acceptsNode: () => accepted.byWork });

    expect([before, view.acceptsNode(request, node)]).toEqual([false, true]);
  });
});

describe('nodes that an order about a label or an image concerns', () => {
  it('are those of the label in all places, and of labels that are made from the image', async () => {
    const labels = new Map([['a', { name: 'a', diskimage: 'debian' }]]);
    const { view, world } = await setUp({}, configOf({ ...main, labels }, other));
    await world.createNode({ labels: ['a'] });
    await world.createNode({ labels: ['a'], provider: 'unknown' });
    await world.createNode({ labels: ['b'], pool: 'other' });

    expect(view.countOrdered({ kind: 'label', name: 'a' })).toBe(2);
    expect(view.countOrdered({ kind: 'image', name: 'debian' })).toBe(2);
    expect(view.countOrdered({ kind: 'image', name: 'unknown' })).toBe(0);
  });
});

describe('nodes that a pool can have', () => {
  it('are idle ones of other pools of its provider, unless one is being deleted there', async () => {
    const { view, world } = await setUp();
    const idle = await world.createNode({ pool: 'other', labels: ['b'] });
    await world.createNode({ provider: 'q', pool: 'other' });
    const before = view.idleElsewhere().map(({ id }) => id);

    await world.createNode({ pool: 'other', state: 'deleting' });

    expect([before, view.idleElsewhere()]).toEqual([[idle], []]);
  });

  it('are to come while one of its own is being deleted, for some minutes', async () => {
    const { view, world } = await setUp();
    const before = view.capacityIsComing;
    await world.createNode({ state: 'deleting' });
    const then = view.capacityIsComing;
    await world.pass(300_000);

    expect([before, then, view.capacityIsComing]).toEqual([false, true, false]);
  });
});

describe('what is kept for requests of others', () => {
  it('is what the first waiting request of another pool needs, unless it waits here as well', async () => {
    const { view, beside, rooms } = await setUp();
    const request = requestOf('200-0000000001', 'b');
    rooms.ledger.reserveHead('p', 'other', { request, need: { instances: 1 } });
    const before = [view.waitingElsewhere, beside.waitingElsewhere];

    view.demand.waiting.put(request);

    expect(before).toMatchObject([[{ request: { id: request.id } }], []]);
    expect(view.waitingElsewhere).toEqual([]);
  });

  it('is what accepted requests of other pools and of other launchers lack, whichever pool knows what a label needs', async () => {
    const quota: QuotaSupport = {
      quotaNeededByLabel: (label) => ({ instances: label === 'b' ? 2 : 1 }),
      estimatedNodepoolQuota: () => undefined,
      invalidateQuotaCache: () => undefined,
    };
    const { view, beside, rooms, world } = await setUp({ quota }, configOf(poolConfig('main', ['a']), other));
    rooms.ledger.reserve('p', 'other', [{ request: requestOf('200-0000000900', 'b'), need: { instances: 1 } }]);
    const body = encodeRequest({ ...newRequest({ labels: ['a', 'b', 'unknown'] }, 0), state: 'pending' });
    const path = await world.clock.run(world.other.create(`${REQUESTS_ROOT}/100-`, body, { sequential: true }));
    await world.createNode({ labels: ['a'], allocatedTo: path.slice(REQUESTS_ROOT.length + 1) as RequestId });

    expect(view.foreignReservations).toMatchObject([
      { request: { id: '200-0000000900' }, need: { instances: 1 } },
      { request: { labels: ['a', 'b', 'unknown'] }, need: { instances: 3 }, isInPool: true },
    ]);
    expect([view.ownReservations, beside.ownReservations.length]).toEqual([[], 1]);
    expect(view.blocksOthers(requestOf('300-0000000001', 'a'))).toBe(true);
    expect(view.blocksOthers(requestOf('050-0000000001', 'a'))).toBe(false);
  });
});

describe('a request that several pools can serve', () => {
  /** Requests of which the pool of another launcher is the first. */
  async function shared() {
    const all = await setUp();
    const { rooms, view } = all;
    await rooms.register({ launcherId: view.launcherId, firstPoolPauseMs: FIRST_POOL_PAUSE_MS });
    await rooms.register({ providerName: 'theirs', firstPoolPauseMs: FIRST_POOL_PAUSE_MS });
    const requests = Array.from({ length: 20 }, (_, i) => requestOf(`200-00000000${i + 10}`, 'a'));
    for (const { id } of requests) view.demand.first.note(id, FIRST_POOL_PAUSE_MS, () => undefined);
    const left = requests.find((request) => view.leftTo(request) !== undefined);
    if (!left) throw new Error('the other pool is never the first');
    return { ...all, left };
  }

  it('is left to the first of them for a moment', async () => {
    const { view, world, left } = await shared();
    const before = view.leftTo(left)?.launcherId;

    await world.pass(FIRST_POOL_PAUSE_MS);

    expect([before, view.leftTo(left)]).toEqual(['another' as LauncherId, undefined]);
  });

  it('is not left to a pool that has no ready node by one that has', async () => {
    const { view, world, left } = await shared();

    await world.createNode({ labels: ['a'] });

    expect(view.isPausing(left.id)).toBe(true);
    expect(view.leftTo(left)).toBeUndefined();
  });

  it('is not left to another pool when its provider is preferred', async () => {
    const { view, left } = await shared();

    expect(view.leftTo({ ...left, provider: 'p' })).toBeUndefined();
  });
});

it('a tenant has the limits of the configuration, and uses what the ledger tells', async () => {
  const { view, world } = await setUp();
  const { config } = world.context;
  config.now = { ...config.now, tenantLimits: new Map([['t', { instances: 3 }]]) };
  await world.createNode({ tenantName: 't' });

  expect([view.tenantLimit('t'), view.tenantLimit('u')]).toEqual([{ instances: 3 }, undefined]);
  expect([view.tenantUsed('t'), view.tenantUsed('u')]).toEqual([{ instances: 1 }, {}]);
});
