import { describe, expect, it } from 'vitest';
import { LauncherRooms } from '../../../test/support/launcher-rooms.js';
import { poolConfig } from '../../../test/support/pool-config.js';
import { ProviderUnavailableError } from '../../contract/errors.js';
import { FIRST_POOL_PAUSE_MS } from '../health/first-pool.js';
import { PoolAnnouncement } from './pool-announcement.js';

async function setUp(isLegacy = false) {
  const rooms = await LauncherRooms.open();
  const [view] = rooms.views.all;
  if (!view) throw new Error('there is no pool');
  const announcement = new PoolAnnouncement(rooms.world.context, view, isLegacy);
  /** Publishes what has changed. */
  const refresh = async () => {
    announcement.refresh();
    await rooms.world.pass(100);
    return rooms.registered();
  };
  return { rooms, view, announcement, refresh, clock: rooms.world.clock };
}

describe('the announcement of a pool', () => {
  it('is made with what the pool offers, and removed', async () => {
    const { rooms, view, announcement, clock } = await setUp();
    const before = announcement.made;

    await clock.run(announcement.register());

    expect([before, announcement.made]).toEqual([false, true]);
    expect(await rooms.registered()).toMatchObject([
      {
        ...{ id: view.launcherId, hostname: 'nl01', provider_name: 'p', name: 'main', supported_labels: ['a', 'b'] },
        ...{ priority: 100, paused: false, state: 'running', first_pool_pause_ms: FIRST_POOL_PAUSE_MS },
      },
    ]);

    await clock.run(announcement.remove());
    expect(await rooms.registered()).toEqual([]);
    expect(announcement.made).toBe(false);
  });

  it('is also made where old launchers look, if asked to', async () => {
    const { rooms, view, announcement, clock } = await setUp(true);

    await clock.run(announcement.register());

    expect(await rooms.registered('/nodepool/launchers')).toMatchObject([{ id: view.launcherId }]);
    await clock.run(announcement.remove());
    expect(await rooms.registered('/nodepool/launchers')).toEqual([]);
  });

  it('follows labels and priority of the configuration in both places', async () => {
    const { rooms, view, announcement, refresh, clock } = await setUp(true);
    await clock.run(announcement.register());

    view.use(view.runner, poolConfig('main', ['b', 'c'], { priority: 7 }));

    expect(await refresh()).toMatchObject([{ supported_labels: ['b', 'c'], priority: 7 }]);
    expect(await rooms.registered('/nodepool/launchers')).toMatchObject([{ supported_labels: ['b', 'c'] }]);
  });

  it('tells others that the pool waits for capacity or its provider fails', async () => {
    const { rooms, announcement, refresh, clock } = await setUp();
    await clock.run(announcement.register());

    for (let i = 0; i < 3; i++) rooms.tryLaunch('a', new ProviderUnavailableError('the cloud hangs'));

    expect(await refresh()).toMatchObject([{ paused: true, health: 'open' }]);
  });

  it('tells others nothing of health where steering is off', async () => {
    const { rooms, announcement, refresh, clock } = await setUp();
    await clock.run(announcement.register());
    const { config } = rooms.world.context;

    config.use({ ...config.now, steering: false });

    const [entry] = await refresh();
    expect(entry?.['first_pool_pause_ms'] ?? 0).toBe(0);
    expect(entry?.['health'] ?? null).toBeNull();
  });

  it('is not written again where nothing has changed', async () => {
    const { rooms, announcement, refresh, clock } = await setUp();
    await clock.run(announcement.register());
    const { other } = rooms.world;
    const root = '/nodepool/components/pool';
    const versions = async () => {
      const names = await clock.run(other.getChildren(root));
      return clock.run(Promise.all(names.map(async (name) => (await other.exists(`${root}/${name}`))?.version)));
    };

    await refresh();

    expect(await versions()).toEqual([0]);
  });
});
