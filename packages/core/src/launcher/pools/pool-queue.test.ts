import { encodeRequest, newRequest, REQUEST_LOCKS_ROOT, REQUESTS_ROOT, type RequestId } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { LostRequests } from '../requests/lost-requests.js';
import { LauncherRooms } from '../../../test/support/launcher-rooms.js';
import { configOf, servingDrivers } from '../../../test/support/serving-config.js';
import { poolConfig } from '../../../test/support/pool-config.js';
import type { Launch } from '../state/events.js';
import { SLOW_POOL_PAUSE_MS } from '../plan/first-pool.js';
import { LAUNCHES_AT_ONCE } from '../../features/steering/pace.js';

/** A pool of labels `a` and `b`, at work. @param options - of the launches and of the provider */
async function open(...options: Parameters<typeof servingDrivers>) {
  const rooms = await LauncherRooms.open(configOf(poolConfig('main', ['a', 'b'])), servingDrivers(...options));
  const lost = new LostRequests(rooms.world.context, rooms.ledger);
  const pools = await rooms.openPools(lost);
  const [pool] = pools.configured;
  if (!pool) throw new Error('no pool has been made');
  return { rooms, lost, pool, world: rooms.world };
}

describe('the queue of a pool', () => {
  it('has the pool plan once for everything that happens in a turn', async () => {
    const { pool, world } = await open();
    let plans = 0;
    world.context.events.on('planDue', () => plans++);

    pool.queue.planSoon();
    pool.queue.planSoon();
    const before = plans;
    await Promise.resolve();
    const after = plans;
    pool.queue.planSoon();
    await Promise.resolve();

    expect([before, after, plans]).toEqual([0, 1, 2]);
  });

  it('leaves a request alone that another process has locked, until the lock is given up', async () => {
    const { rooms, pool, world } = await open();
    const { clock, other } = world;
    const root = `${REQUEST_LOCKS_ROOT}/200-0000000000`;
    await clock.run(other.ensurePath(root));
    const entry = await clock.run(other.create(`${root}/0123__lock__`, '', { ephemeral: true, sequential: true }));
    const id = await rooms.ask(['a']);
    pool.queue.planSoon();
    await world.pass(1_000);
    expect(pool.load).toEqual({ handling: 0, waiting: 0, paused: 0 });
    expect([id, await rooms.stateOf(id)]).toEqual(['200-0000000000', 'requested']);

    await clock.run(other.delete(entry));
    await world.pass(1_000);

    expect(await rooms.stateOf(id)).toBe('fulfilled');
  });

  it('declines what the pool can never serve, and says why', async () => {
    const { rooms, pool } = await open();

    const id = await rooms.ask(['a', 'other']);

    expect(await rooms.stored(id)).toMatchObject({
      ...{ state: 'failed', declinedBy: [pool.launcherId] },
      declineReasons: { [pool.launcherId]: { rule: 'label-unavailable' } },
    });
  });

  it('declines a request soon after others have ceased to change it, however long they did', async () => {
    const { rooms, world } = await open();
    const { other, clock } = world;
    const body = (relativePriority: number) =>
      encodeRequest(newRequest({ labels: ['a', 'other'], requestor: 'zuul', relativePriority }, clock.now()));
    const path = await clock.run(other.create(`${REQUESTS_ROOT}/200-`, body(0), { sequential: true }));
    const id = path.slice(REQUESTS_ROOT.length + 1) as RequestId;

    const untilMs = clock.now() + 6_000;
    for (let i = 1; clock.now() < untilMs; i++) {
      await clock.run(other.setData(path, body(i)));
      await world.pass(16);
    }
    const meanwhile = await rooms.stateOf(id);
    await world.pass(1_000);

    expect([meanwhile, await rooms.stateOf(id)]).toEqual(['requested', 'failed']);
  });

  it('lets a request fail that the pool has declined before, once no other pool is left', async () => {
    const { rooms, world } = await open();
    const other = await rooms.register({ providerName: 'theirs', supportedLabels: ['other'] });
    const id = await rooms.ask(['other']);
    expect(await rooms.stateOf(id)).toBe('requested');

    await world.clock.run(world.other.delete(other));
    await world.pass(40_000);

    expect(await rooms.stateOf(id)).toBe('failed');
  });

  it('does not lock a request whose leftovers are being removed, until they are gone', async () => {
    const { rooms, lost, world } = await open();
    const id = '200-0000000000' as RequestId;
    const request = { ...newRequest({ labels: ['a'] }, 0), id };
    rooms.ledger.begin(request, []); // another pool works on it: its locks cannot be told from those left behind
    lost.recover(id, world.zk.sessionEpoch);
    await rooms.ask(['a']);
    expect(await rooms.stateOf(id)).toBe('requested');

    rooms.ledger.end(id);
    await world.pass(5_000);

    expect(await rooms.stateOf(id)).toBe('fulfilled');
  });

  it('forgets a request that waits and is withdrawn', async () => {
    const { rooms, pool, world } = await open({}, { start: () => new Promise(() => undefined) });
    const id = await rooms.ask(['a']);
    expect(pool.load).toMatchObject({ waiting: 1 });

    await world.clock.run(world.other.delete(`${REQUESTS_ROOT}/${id}`));
    await world.pass(100);

    expect(pool.load).toEqual({ handling: 0, waiting: 0, paused: 0 });
  });
});

describe('the queue of a pool whose provider has become slow', () => {
  function launchesOf({ rooms }: { rooms: LauncherRooms }, count: number): Launch[] {
    const { events } = rooms.world.context;
    const request = '100-0000000009' as RequestId;
    const launches = Array.from({ length: count }, () => ({
      ...{ provider: 'p', pool: 'main', label: 'a', request, need: { instances: 1 } },
    }));
    for (const launch of launches) {
      events.emit('launchBegun', { launch });
      events.emit('launchProgressed', { launch, step: { what: 'created' } });
    }
    return launches;
  }

  /** Eight machines at once take ten times as long as one before them. */
  async function slow(launching: { until?: Promise<void> | undefined } = {}) {
    const opened = await open(launching);
    const { world } = opened;
    for (const { count, tookMs } of [
      { count: 1, tookMs: 40_000 },
      { count: 8, tookMs: 400_000 },
    ]) {
      const launches = launchesOf(opened, count);
      await world.pass(tookMs);
      for (const launch of launches) world.context.events.emit('launchEnded', { launch, state: 'ready' });
    }
    return opened;
  }

  it('leaves a request to another pool for a moment, and has it served when that one does not', async () => {
    const opened = await slow();
    const { rooms, pool, world } = opened;
    await rooms.register({ providerName: 'other', firstPoolPauseMs: 250 });
    launchesOf(opened, 1); // until the next probe, nothing that takes its usual time

    const id = await rooms.ask(['a']);
    const before = { state: await rooms.stateOf(id), told: pool.explain(await rooms.stored(id)) };
    await world.pass(SLOW_POOL_PAUSE_MS);

    expect(before.state).toBe('requested');
    expect(before.told).toMatchObject({ action: 'yield', rule: 'yield-to-first' });
    expect(before.told.text).toBe(
      'provider "p" is slow, launches of "a" take longer than 60 s: it is left to pool "other/main" for a moment',
    );
    expect(await rooms.stateOf(id)).toBe('fulfilled');
  });

  it('has it served at once when there is no other pool', async () => {
    const opened = await slow();
    launchesOf(opened, 1);

    expect(await opened.rooms.stateOf(await opened.rooms.ask(['a']))).toBe('fulfilled');
  });

  it('leaves to others what waits until a launch ends', async () => {
    const opened = await slow({ until: new Promise(() => undefined) });
    const { rooms, pool, world } = opened;

    launchesOf(opened, LAUNCHES_AT_ONCE - 1);
    const first = await rooms.stateOf(await rooms.ask(['a']));
    const last = await rooms.stored(await rooms.ask(['a']));

    expect([first, last.state]).toEqual(['pending', 'requested']);
    expect(pool.explain(last)).toMatchObject({ action: 'wait', rule: 'launch-ramp' });
    expect(world.context.mirror.requests.contenders(last.id)).toBe(0);
  });
});
