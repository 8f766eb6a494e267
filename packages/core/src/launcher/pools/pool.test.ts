import { requestPath, type LauncherId, type PoolComponentRecord } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { LauncherRooms } from '../../../test/support/launcher-rooms.js';
import { configOf, servingDrivers } from '../../../test/support/serving-config.js';
import { poolConfig } from '../../../test/support/pool-config.js';
import type { PoolConfig } from '../../contract/provider-config.js';

const main = (limits: Partial<PoolConfig> = {}) => poolConfig('main', ['a', 'b'], limits);

/** Pool `main` of labels `a` and `b` with these limits, at work. */
async function open(limits: Partial<PoolConfig> = {}, launching: { until?: Promise<void> | undefined } = {}) {
  const rooms = await LauncherRooms.open(configOf(main(limits)), servingDrivers(launching));
  const pools = await rooms.openPools();
  const [pool] = pools.configured;
  if (!pool) throw new Error('no pool has been made');
  return { rooms, pools, pool, world: rooms.world };
}

describe('a pool', () => {
  it('is registered with its labels before it serves', async () => {
    const { rooms, pool } = await open();

    expect(await rooms.registered()).toMatchObject([
      { id: pool.launcherId, provider_name: 'p', name: 'main', supported_labels: ['a', 'b'], state: 'running' },
    ]);
    expect(await rooms.registered()).toMatchObject([{ paused: false }]);
    expect(pool.view.isRegistered).toBe(true);
  });

  it('serves a request as soon as it appears, and gives up its lock a moment later', async () => {
    const { rooms, pool, world } = await open();

    const id = await rooms.ask(['a', 'b']);
    const contenders = () => world.context.mirror.requests.contenders(id);
    const before = contenders();
    await world.pass(60_000);

    expect(await rooms.stored(id)).toMatchObject({ state: 'fulfilled', nodeIds: ['0000000000', '0000000001'] });
    expect([before, contenders()]).toEqual([1, 0]);
    expect(pool.load).toEqual({ handling: 0, waiting: 0, paused: 0 });
  });

  it('publishes its new labels and priority when a reload changes them', async () => {
    const { rooms, pools, pool } = await open();

    await rooms.reload(pools, configOf(poolConfig('main', ['b'], { priority: 7 })));

    expect(await rooms.registered()).toMatchObject([{ id: pool.launcherId, supported_labels: ['b'], priority: 7 }]);
  });

  it.each<[string, Partial<PoolComponentRecord>, boolean]>([
    ['offers other labels', { supportedLabels: ['a'] }, true],
    ['has another priority', { priority: 50 }, true],
    ['fails', { health: 'open' }, true],
    ['pauses and comes after it', { paused: true, priority: 200 }, false],
    ['pauses and comes before it', { paused: true, priority: 50 }, true],
  ])('looks at all requests again when a registered pool %s: %o, %s', async (_what, changes, isJudged) => {
    const { rooms, pool, world } = await open({ maxServers: 1 });
    for (let i = 0; i < 3; i++) await rooms.ask(['a']); // the last one is neither served nor accepted
    const judged: string[] = [];
    world.context.events.on('requestJudged', ({ request }) => judged.push(request.id));
    const [before] = rooms.registry.pools;
    if (!before) throw new Error('nothing is registered');
    const priority = changes.priority === 50 && changes.paused ? 50 : 200;
    const other = { ...before, launcherId: 'another' as LauncherId, priority, paused: false };

    pool.poolsChanged({ before: other, after: { ...other, ...changes } });

    expect(judged.length > 0).toBe(isJudged);
  });
});

describe('a full pool', () => {
  async function full() {
    const opened = await open({ maxServers: 1 });
    const first = await opened.rooms.ask(['a']);
    return { ...opened, first, waiting: await opened.rooms.ask(['a']) };
  }

  it('accepts one request that waits, tells others that it is paused, and leaves the rest in the queue', async () => {
    const { rooms, pool, waiting } = await full();
    const behind = await rooms.ask(['a']);

    expect([await rooms.stateOf(waiting), await rooms.stateOf(behind)]).toEqual(['pending', 'requested']);
    expect(pool.load).toEqual({ handling: 1, waiting: 1, paused: 1 });
    expect(await rooms.registered()).toMatchObject([{ paused: true }]);
    expect(pool.explain(await rooms.stored(behind))).toMatchObject({ action: 'wait', rule: 'pool-full' });
  });

  it('is no longer paused once it can serve the request', async () => {
    const { rooms, first, waiting } = await full();

    await rooms.returnNodes(first);

    expect(await rooms.stateOf(waiting)).toBe('fulfilled');
    expect(await rooms.registered()).toMatchObject([{ paused: false }]);
  });

  it('forgets a request that its requestor withdraws', async () => {
    const { rooms, pool, world, waiting } = await full();

    await world.clock.run(world.other.delete(requestPath(waiting)));
    await world.pass(1_000);

    expect(pool.load).toEqual({ handling: 0, waiting: 0, paused: 0 });
    expect(await rooms.registered()).toMatchObject([{ paused: false }]);
    expect(rooms.ledger.reservationsOf('p', 'main')).toEqual([]);
  });
});

describe('a pool that stops', () => {
  it('leaves the registry, finishes what it launches, and takes nothing new', async () => {
    let finish = (): void => undefined;
    const launching = { until: new Promise<void>((resolve) => (finish = resolve)) };
    const { rooms, pool, world } = await open({}, launching);
    const id = await rooms.ask(['a']);

    const drained = pool.drain();
    await world.pass(1_000);
    expect(await rooms.registered()).toEqual([]);
    expect(await rooms.stateOf(await rooms.ask(['a']))).toBe('requested');
    finish();
    await world.clock.run(drained);

    expect(await rooms.stateOf(id)).toBe('fulfilled');
  });

  it('puts back what waits for capacity, and what it kept for that is free', async () => {
    const { rooms, pool, world } = await open({ maxServers: 1 });
    await rooms.ask(['a']);
    const waiting = await rooms.ask(['a']);
    expect(rooms.ledger.reservationsOf('p', 'main')).toHaveLength(1);

    await world.clock.run(pool.drain());

    expect(await rooms.stored(waiting)).toMatchObject({ state: 'requested', declinedBy: [] });
    expect(rooms.ledger.reservationsOf('p', 'main')).toEqual([]);
    expect(rooms.ledger.headsBesides('p', 'other')).toEqual([]);
  });

  it('says nothing of requests any more once it has left the registry', async () => {
    const { rooms, pool, world } = await open();
    await world.clock.run(pool.drain());
    const judged: string[] = [];
    world.context.events.on('requestJudged', ({ request }) => judged.push(request.id));

    const id = await rooms.ask(['a', 'unknown']);

    expect(await rooms.stored(id)).toMatchObject({ state: 'requested', declinedBy: [] });
    expect(judged).toEqual([]);
    expect(pool.load).toMatchObject({ waiting: 0 });
  });
});

describe('a pool whose session is over', () => {
  it('abandons its requests, takes nothing new before it is registered again, and serves then', async () => {
    let finish = (): void => undefined;
    const launching: { until?: Promise<void> | undefined } = { until: new Promise((resolve) => (finish = resolve)) };
    const { rooms, pools, pool, world } = await open({}, launching);
    const outcomes: string[] = [];
    world.context.events.on('requestEnded', ({ request, outcome }) => outcomes.push(`${request.id} ${outcome}`));
    const begun = await rooms.ask(['a']);
    expect(await rooms.stateOf(begun)).toBe('pending');

    world.zk.onState((state) => state === 'LOST' && pools.sessionLost(new Error('the session has expired')));
    world.loseSession();
    await world.pass(60_000);

    expect(outcomes).toEqual([`${begun} abandoned`]);
    expect(pool.load).toMatchObject({ handling: 0, paused: 0 });
    launching.until = undefined;
    const fresh = await rooms.ask(['a']);
    expect(await rooms.stateOf(fresh), 'it is not registered').toBe('requested');

    await world.clock.run(pools.sessionRenewed());
    await world.pass(1_000);

    expect(await rooms.stateOf(fresh)).toBe('fulfilled');
    expect(rooms.ledger.activeLaunches('p'), 'the driver has not ended the launch of before').toBe(1);
    finish();
    await world.pass(100);
    expect(rooms.ledger.activeLaunches('p')).toBe(0);
  });
});
