import { describe, expect, it } from 'vitest';
import { LauncherRooms } from '../../../test/support/launcher-rooms.js';
import { poolConfig } from '../../../test/support/pool-config.js';
import { ProviderUnavailableError } from '../../contract/errors.js';
import { FIRST_POOL_PAUSE_MS } from '../plan/first-pool.js';
import { announce, refreshed } from './pool-announcement.js';

async function setUp() {
  const rooms = await LauncherRooms.open();
  const [view] = rooms.views.all;
  if (!view) throw new Error('there is no pool');
  const entry = announce(rooms.world.context, view, rooms.registry);
  return { rooms, view, entry, refresh: () => refreshed(entry, view, rooms.registry) };
}

describe('the registry entry of a pool', () => {
  it('has what the pool offers', async () => {
    const { view, entry } = await setUp();

    expect(entry).toMatchObject({
      ...{
        launcherId: view.launcherId,
        hostname: 'nl01',
        providerName: 'p',
        name: 'main',
        supportedLabels: ['a', 'b'],
      },
      ...{ priority: 100, paused: false, state: 'running', health: null, firstPoolPauseMs: FIRST_POOL_PAUSE_MS },
    });
  });

  it('follows labels and priority of the configuration', async () => {
    const { view, refresh } = await setUp();

    view.use(view.runner, poolConfig('main', ['b', 'c'], { priority: 7 }));

    expect(refresh()).toMatchObject({ supportedLabels: ['b', 'c'], priority: 7 });
  });

  it('says why its nodes are not lent, until they are', async () => {
    const { view, refresh } = await setUp();

    view.use(view.runner, { ...poolConfig('main', ['a']), notLent: 'set service-account' });
    const kept = refresh();
    view.use(view.runner, poolConfig('main', ['a']));

    expect([kept.notLent, refresh().notLent]).toEqual(['set service-account', null]);
  });

  it('shows that the provider fails', async () => {
    const { rooms, refresh } = await setUp();

    for (let i = 0; i < 3; i++) rooms.tryLaunch('a', new ProviderUnavailableError('the cloud hangs'));

    expect(refresh()).toMatchObject({ paused: true, health: 'open' });
  });

  it('has no health where steering is off', async () => {
    const { rooms, refresh } = await setUp();
    const { config } = rooms.world.context;

    config.now = { ...config.now, steering: false };

    expect(refresh()).toMatchObject({ health: null, firstPoolPauseMs: 0 });
  });

  it('is the same object if nothing has changed', async () => {
    const { entry, refresh } = await setUp();

    expect(refresh()).toBe(entry);
  });
});
