import { newRequest, type RequestId } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { LauncherRooms } from '../../../test/support/launcher-rooms.js';
import { configOf, servingDrivers } from '../../../test/support/serving-config.js';
import { poolConfig } from '../../../test/support/pool-config.js';
import type { Provider } from '../../contract/driver.js';

const main = poolConfig('main', ['a'], { maxServers: 1 });
const other = poolConfig('other', ['b']);

/** Pools `main` (one node of label `a`) and `other` (label `b`) of one provider. */
async function open(launching: { until?: Promise<void> | undefined } = {}, changes: Partial<Provider> = {}) {
  const rooms = await LauncherRooms.open(configOf(main, other), servingDrivers(launching, changes));
  const pools = await rooms.openPools();
  const { events } = rooms.world.context;
  /** Names of pools that have planned or could not since the last call. */
  const planned = async () => {
    await rooms.world.pass(100);
    return names.splice(0).sort();
  };
  const names: string[] = [];
  events.on('poolPlanned', ({ pool }) => names.push(pool.pool.name));
  return { rooms, pools, events, planned, world: rooms.world };
}

/** The same; their provider never starts, so that a request waits in each. */
async function openWaiting() {
  const opened = await open({}, { start: () => new Promise(() => undefined) });
  for (const label of ['a', 'b']) await opened.rooms.ask([label]);
  await opened.planned();
  return opened;
}

describe('what happens around pools', () => {
  it.each<[string, (opened: Awaited<ReturnType<typeof openWaiting>>) => void, string[]]>([
    ['capacity of a pool', ({ pools }) => pools.capacityChanged('p', 'main'), ['main']],
    ['a provider', ({ pools }) => pools.capacityChanged('p'), ['main', 'other']],
    ['another provider', ({ pools }) => pools.capacityChanged('q'), []],
    ['its start', ({ events }) => events.emit('providerStarted', { provider: 'p' }), ['main', 'other']],
    ['its images', ({ events }) => events.emit('imageChanged', { image: 'i', provider: 'p' }), ['main', 'other']],
    ['its health', ({ events }) => events.emit('healthChanged', { provider: 'p' }), ['main', 'other']],
    ['a tenant', ({ events }) => events.emit('tenantCapacityFreed', { tenant: 't' }), ['main', 'other']],
    ['a label without an order', ({ events }) => events.emit('labelCapacityFreed', { label: 'a' }), []],
    ['the registry', ({ events }) => events.emit('registrySettled', {}), ['main', 'other']],
    ['another pool', ({ events }) => events.emit('capacityFreed', { provider: 'p', pool: 'main' }), ['other']],
    ['what it waits for', ({ pools }) => pools.waitChanged('p', 'main'), ['main']],
  ])('makes those plan that it concerns: %s', async (_what, happen, concerned) => {
    const opened = await openWaiting();

    happen(opened);

    expect(await opened.planned()).toEqual(concerned);
  });

  it('makes a pool plan when its launch has ended, and others where launches are limited', async () => {
    const { rooms, planned } = await openWaiting();

    rooms.tryLaunch('a');

    expect(await planned()).toEqual(['main', 'other']); // as launches at once are limited
  });

  it('makes pools plan when a launch of one has ended that is not there any more', async () => {
    const { events, planned } = await openWaiting();
    const launch = { provider: 'p', pool: 'gone', label: 'a', request: '200-0000000009' as RequestId, need: {} };

    events.emit('launchBegun', { launch });
    events.emit('launchEnded', { launch, state: 'failed' });

    expect(await planned()).toEqual(['main', 'other']);
  });

  it('makes pools plan that can use a node that is gone', async () => {
    const { rooms, planned, world } = await openWaiting();
    const node = await world.createNode({ state: 'in-use' });
    await planned();

    await world.clock.run(rooms.world.other.deleteRecursive(`/nodepool/nodes/${node}`));

    expect(await planned()).toEqual(['main', 'other']);
  });

  it('makes pools look again at a request whose leftovers are gone', async () => {
    const { pools, planned } = await openWaiting();

    pools.recovered('200-0000000000' as RequestId);

    expect(await planned()).toEqual(['main', 'other']);
  });

  it('concerns no pool any more once all have been abandoned', async () => {
    const { pools, planned, rooms } = await openWaiting();

    rooms.world.context.life.stop();
    pools.stop();
    await rooms.ask(['b']);
    pools.reconsiderAll();

    expect(await planned()).toEqual([]);
  });
});

describe('a pool that has left the configuration', () => {
  it('ends what it has begun, and its provider is worked for until then', async () => {
    let finish = (): void => undefined;
    const { rooms, pools, world } = await open({ until: new Promise<void>((resolve) => (finish = resolve)) });
    const id = await rooms.ask(['b']);

    await rooms.reload(pools, { ...configOf(), providers: new Map() });
    const before = [pools.configured.length, rooms.ledger.activeLaunches('p'), rooms.providers.draining.length];
    finish();
    await world.pass(1_000);
    expect(await rooms.stateOf(id)).toBe('fulfilled');
    await rooms.returnNodes(id);

    expect(before).toEqual([0, 1, 1]);
    expect([rooms.ledger.activeLaunches('p'), rooms.providers.draining.length]).toEqual([0, 0]);
    expect(await rooms.registered()).toEqual([]);
  });

  it('leaves what its successor of the same name keeps for requests', async () => {
    const { rooms, pools } = await open({ until: new Promise(() => undefined) });
    await rooms.ask(['a']); // its launch never ends, so that the pool never ends either
    await rooms.reload(pools, configOf(other));
    await rooms.reload(pools, configOf(main, other));

    const waiting = await rooms.ask(['a']);
    pools.waitChanged('p', 'main');

    expect(rooms.ledger.reservationsOf('p', 'main')).toMatchObject([{ request: { id: waiting } }]);
  });
});

describe('the pools of a launcher', () => {
  it('tell their load', async () => {
    const { rooms, pools } = await open();
    for (let i = 0; i < 3; i++) await rooms.ask(['a']);

    expect(pools.loads()).toMatchObject([
      { provider: 'p', pool: 'main', handling: 1, waiting: 1, paused: 1 },
      { provider: 'p', pool: 'other', handling: 0, waiting: 0, paused: 0 },
    ]);
  });

  it('that could not be made do not count as candidates for requests', async () => {
    const { rooms, pools } = await open();
    const request = { ...newRequest({ labels: ['c'] }, 0), id: '200-0000000009' as RequestId };
    const declined = { ...request, declinedBy: pools.configured.map(({ launcherId }) => launcherId) };

    pools.prepare(configOf(main, other, poolConfig('third', ['c'])));
    const before = rooms.registry.seemsRefusedByAll(declined);
    pools.settleCandidates();

    expect([before, rooms.registry.seemsRefusedByAll(declined)]).toEqual([false, true]);
  });

  it('drain together: none is registered any more, and none counts as a candidate', async () => {
    const { rooms, pools, world } = await open();
    await rooms.ask(['a']);
    const waiting = await rooms.ask(['a']);

    await world.clock.run(pools.drain());
    await world.pass(100);

    expect(await rooms.registered()).toEqual([]);
    expect(rooms.registry.candidates).toEqual([]);
    expect(await rooms.stateOf(waiting)).toBe('requested');
  });
});
