import { encodeRequest, requestPath, withRequest, type NodeId, type RequestFields } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { MIN_READY_REQUESTOR } from '../plan/candidates.js';
import { LauncherRooms } from '../../../test/support/launcher-rooms.js';
import { configOf, servingDrivers } from '../../../test/support/serving-config.js';
import { poolConfig } from '../../../test/support/pool-config.js';
import type { LaunchOrder, QuotaSupport } from '../../contract/driver.js';
import type { PoolConfig } from '../../contract/provider-config.js';
import { exceedsTenant } from './pool-work.js';

const main = (limits: Partial<PoolConfig> = {}) => poolConfig('main', ['a', 'b'], limits);

/** A pool of labels `a` and `b` with these limits, at work. @param options - of the launches and of the provider */
async function open(limits: Partial<PoolConfig> = {}, ...options: Parameters<typeof servingDrivers>) {
  const rooms = await LauncherRooms.open(configOf(main(limits)), servingDrivers(...options));
  const pools = await rooms.openPools();
  const [pool] = pools.configured;
  if (!pool) throw new Error('no pool has been made');
  return { rooms, pools, pool, world: rooms.world };
}

/** The same; its provider starts when the test says so. */
async function openUnstarted(limits: Partial<PoolConfig> = {}) {
  let start = (): void => undefined;
  const started = new Promise<void>((resolve) => (start = resolve));
  const opened = await open(limits, {}, { start: () => started });
  return {
    ...opened,
    start: async () => {
      start();
      await opened.world.pass(1_000);
    },
  };
}

describe('a pool at work', () => {
  it('serves what waited before its provider had started', async () => {
    const { rooms, pool, start } = await openUnstarted();
    const id = await rooms.ask(['a']);
    expect(await rooms.stateOf(id)).toBe('requested');
    expect(pool.load).toMatchObject({ waiting: 1 });

    await start();

    expect(await rooms.stateOf(id)).toBe('fulfilled');
  });

  it('forgets a request that another launcher took while the pool was not registered', async () => {
    const { rooms, pool, world } = await openUnstarted();
    const id = await rooms.ask(['a']);
    const before = pool.load.waiting;

    pool.sessionLost(new Error('the session has ended'));
    const taken = withRequest(await rooms.stored(id), { state: 'pending' }, world.clock.now());
    await world.clock.run(world.other.setData(requestPath(id), encodeRequest(taken)));
    await world.pass(100);

    expect([before, pool.load.waiting]).toEqual([1, 0]);
  });

  it('uses a ready node, and serves the request with the best place first', async () => {
    const { rooms, world, start } = await openUnstarted({ maxServers: 1 });
    const [late, early] = [await rooms.ask(['a']), await rooms.ask(['a'], {}, 100)];
    const node = await world.createNode({ resources: { instances: 1 } });

    await start();

    expect((await rooms.stored(early)).nodeIds).toEqual([node]);
    expect(await rooms.stateOf(late)).toBe('pending');
  });

  it('declines a request whose images are not there', async () => {
    const getRequestHandler = () => ({ imagesAvailable: () => false });
    const { rooms, pool, world } = await open({}, {}, { getRequestHandler });
    const left: unknown[] = [];
    world.context.events.on('requestJudged', ({ why }) => why && left.push([why.action, why.reason.rule]));

    const id = await rooms.ask(['a']);

    expect(await rooms.stored(id)).toMatchObject({ state: 'failed', declinedBy: [pool.launcherId] });
    expect(left[0]).toEqual(['decline', 'images-unavailable']);
  });

  it('counts a request for its tenant while it works on it, and a launch until it has ended', async () => {
    let finish = (): void => undefined;
    const { rooms, world } = await open({}, { until: new Promise<void>((resolve) => (finish = resolve)) });

    const id = await rooms.ask(['a'], { tenantName: 't' });
    const before = [rooms.ledger.has(id), rooms.ledger.activeLaunches('p'), rooms.ledger.usedByTenant('t')];
    finish();
    await world.pass(1_000);

    expect(before).toEqual([true, 1, { instances: 1 }]);
    expect([rooms.ledger.has(id), rooms.ledger.activeLaunches('p')]).toEqual([false, 0]);
    expect(rooms.ledger.usedByTenant('t')).toEqual({ instances: 1 });
  });

  it('replaces a node of a request that waits for others when its machine is lost', async () => {
    const { rooms, world } = await open({ maxServers: 2 });
    await world.createNode({ labels: ['b'], state: 'in-use', resources: { instances: 1 } });
    const id = await rooms.ask(['a', 'b']);
    const lost = [...world.context.mirror.nodes.values()].find(({ allocatedTo }) => allocatedTo === id)?.id;
    expect(lost).toBeDefined();

    world.context.events.emit('nodeUnusable', { id: lost ?? ('' as NodeId), why: 'preempted' });
    await world.pass(1_000);

    expect(world.context.mirror.nodes.get(lost ?? '')).toMatchObject({ state: 'deleting', comment: 'preempted' });
    expect(await rooms.stateOf(id)).toBe('pending');
  });

  it('finds with a sweep what no event has told of', async () => {
    const limit = { instances: 1 };
    const quota: QuotaSupport = {
      quotaNeededByLabel: () => ({ instances: 1 }),
      estimatedNodepoolQuota: () => limit,
      invalidateQuotaCache: () => undefined,
    };
    const { rooms, pool, world } = await open({}, {}, { quota });
    await rooms.ask(['a']);
    const id = await rooms.ask(['a']);
    const before = pool.work.sweep();

    limit.instances = 2;
    const found = pool.work.sweep();
    await world.pass(1_000);

    expect([before, found, pool.work.sweep()]).toEqual([0, 1, 0]);
    expect(await rooms.stateOf(id)).toBe('fulfilled');
  });
});

it('a request that others take the capacity from goes back to the queue, with what it has', async () => {
  const limit = { instances: 2 };
  const others = { instances: 0 };
  const quota: QuotaSupport = {
    quotaNeededByLabel: () => ({ instances: 1 }),
    estimatedNodepoolQuota: () => limit,
    unmanagedQuotaUsed: () => others,
    invalidateQuotaCache: () => undefined,
  };
  const { rooms, pool, world } = await open({}, {}, { quota });
  const first = await rooms.ask(['a']);
  await world.pass(1_000);
  const id = await rooms.ask(['a', 'a']);
  pool.work.sweep();
  await world.pass(1_000);
  const before = [await rooms.stateOf(first), await rooms.stateOf(id)];

  Object.assign(limit, { instances: 1 });
  Object.assign(others, { instances: 1 });
  pool.work.sweep();
  await world.pass(1_000);

  expect([...before, await rooms.stateOf(id)]).toEqual(['fulfilled', 'pending', 'requested']);
});

describe('a launch of a request that was withdrawn', () => {
  /** One machine at most, which boots until the launcher does not need it any more, or the test says so. */
  async function launching(fields: Partial<RequestFields> = {}) {
    const orders: LaunchOrder[] = [];
    let finish = (): void => undefined;
    const until = new Promise<void>((resolve, reject) => {
      finish = resolve;
      orders.push = (order) => {
        order.unwanted?.addEventListener('abort', () => reject(order.unwanted?.reason as Error));
        return Array.prototype.push.call(orders, order);
      };
    });
    const opened = await open({ maxServers: 1 }, { until, orders });
    const { rooms, world } = opened;
    const id = await rooms.ask(['a'], fields);
    const withdraw = async (each = id) => {
      await world.clock.run(world.other.delete(requestPath(each)));
      await world.pass(1_000);
    };
    const states = () => [...world.context.mirror.nodes.values()].map(({ state }) => state);
    return { ...opened, withdraw, states, finish };
  }

  it('is ended a moment later, as no other needs the node', async () => {
    const { rooms, world, withdraw, states } = await launching();

    await withdraw();
    expect(states()).toEqual(['building']);
    await world.pass(10_000);

    expect(states()).toEqual(['aborted']);
    expect(rooms.ledger.activeLaunches('p')).toBe(0);
  });

  it('continues for one that waits for the label', async () => {
    const { rooms, world, withdraw, finish } = await launching();
    const waiting = await rooms.ask(['a']);

    await withdraw();
    await world.pass(60_000);
    finish();
    await world.pass(1_000);

    expect(await rooms.stateOf(waiting)).toBe('fulfilled');
  });

  it('continues if it was for a standby node, as its launcher may be gone', async () => {
    const { world, withdraw, states, finish } = await launching({ requestor: MIN_READY_REQUESTOR });

    await withdraw();
    await world.pass(60_000);
    finish();
    await world.pass(1_000);

    expect(states()).toEqual(['ready']);
  });

  it.each([
    ['waits for another label', ['b'], false],
    ['is withdrawn as well', ['a'], true],
  ])('is ended when the one that waits %s', async (_what, labels, isWithdrawn) => {
    const { rooms, world, withdraw, states } = await launching();
    const waiting = await rooms.ask(labels);

    await withdraw();
    if (isWithdrawn) await withdraw(waiting);
    await world.pass(15_000);

    expect(states()).toContain('aborted');
  });
});

describe('a full pool at work', () => {
  /** One machine, in use, and a request that waits for it. */
  async function full() {
    const opened = await open({ maxServers: 1 });
    const first = await opened.rooms.ask(['a']);
    return { ...opened, first, waiting: await opened.rooms.ask(['a']) };
  }

  it('serves the request that waits once the machine is gone', async () => {
    const { rooms, first, waiting } = await full();

    await rooms.returnNodes(first);

    expect(await rooms.stateOf(waiting)).toBe('fulfilled');
  });

  it('serves it once a reload allows more', async () => {
    const { rooms, pools, waiting } = await full();

    await rooms.reload(pools, configOf(main({ maxServers: 2 })));

    expect(await rooms.stateOf(waiting)).toBe('fulfilled');
  });

  it('puts it back when a reload takes its label', async () => {
    const { rooms, pools, pool, waiting } = await full();

    await rooms.reload(pools, configOf(poolConfig('main', ['b'], { maxServers: 1 })));

    expect(await rooms.registered()).toMatchObject([{ supported_labels: ['b'] }]);
    expect(await rooms.stored(waiting)).toMatchObject({ state: 'failed', declinedBy: [pool.launcherId] });
  });

  it('has a free node that serves no waiting label deleted', async () => {
    const { rooms, world } = await open({ maxServers: 1 });
    const node = await world.createNode({ labels: ['b'], resources: { instances: 1 } });

    const id = await rooms.ask(['a']);

    expect(await rooms.stateOf(id)).toBe('pending');
    expect(world.context.mirror.nodes.get(node)).toMatchObject({ state: 'deleting' });
  });

  it('serves a request first that has been moved forward', async () => {
    const { rooms, world, first, waiting } = await full();
    const [second, third] = [await rooms.ask(['a']), await rooms.ask(['a'])];
    const { other, clock } = world;
    const moved = withRequest(await rooms.stored(third), { relativePriority: -1 }, clock.now());
    await clock.run(other.setData(requestPath(third), encodeRequest(moved)));
    await world.pass(100);

    for (const done of [first, waiting]) await rooms.returnNodes(done);

    expect([await rooms.stateOf(second), await rooms.stateOf(third)]).toEqual(['pending', 'fulfilled']);
  });

  it('tells other pools of the provider what it waits for, and when it waits for less', async () => {
    const { rooms, world, first, waiting } = await full();
    const freed: string[] = [];
    world.context.events.on('capacityFreed', ({ pool }) => freed.push(pool));
    const kept = rooms.ledger.reservationsBesides('p', 'other');

    await rooms.returnNodes(first);

    expect(kept).toMatchObject([{ request: { id: waiting }, need: { instances: 1 } }]);
    expect(rooms.ledger.reservationsBesides('p', 'other')).toEqual([]);
    expect(freed).toContain('main');
  });
});

describe('exceedsTenant', () => {
  it.each([
    [4, false],
    [5, true],
  ])('compares what is used and promised with the limit of the tenant: %i of 4: %s', (used, exceeds) => {
    const view = { tenantLimit: () => ({ instances: 4 }), tenantUsed: () => ({ instances: used }) };

    expect(exceedsTenant({ tenantName: 't' }, view)).toBe(exceeds);
    expect(exceedsTenant({ tenantName: null }, view)).toBe(false);
  });
});
