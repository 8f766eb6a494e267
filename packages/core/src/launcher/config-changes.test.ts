import { describe, expect, it } from 'vitest';
import type { Config } from '../contract/config.js';
import { idleProvider } from '../../test/support/idle-provider.js';
import { LauncherRooms } from '../../test/support/launcher-rooms.js';
import { plainDriver, registryOf } from '../../test/support/plain-driver.js';
import { poolConfig } from '../../test/support/pool-config.js';
import { configOf } from '../../test/support/serving-config.js';
import { ConfigChanges } from './config-changes.js';
import { ageLimits } from '../features/age-limits/index.js';
import { Reaper } from './nodes/reaper.js';
import { Standby } from '../features/standby/standby.js';
import { currentDriverScope, type DriverScope } from './providers/guard/driver-scope.js';

const config = configOf(poolConfig('main', ['a']));

/** A launcher whose providers start when a test lets them. */
async function setUp() {
  const scopes: (DriverScope | undefined)[] = [];
  const gate = { start: () => Promise.resolve() };
  const driver = plainDriver('idle', {
    capabilities: { launches: true, pausesAtQuota: false, managesImages: false },
    getProvider: (providerConfig) => {
      scopes.push(currentDriverScope());
      return idleProvider(providerConfig, { start: () => gate.start() });
    },
  });
  const rooms = await LauncherRooms.open(config, registryOf(driver));
  const { world, providers, views, registry, spares, levels, idle } = rooms;
  const { context } = world;
  const pools = await rooms.openPools();
  const reaper = new Reaper(context, providers, registry.registered);
  const ages = ageLimits(rooms.engine());
  const standby = new Standby(context, views, levels, [spares]);
  const parts = [providers, reaper, pools, ages, spares, idle, standby];
  const changes = new ConfigChanges({ context, pools, providers, parts });
  const fault = () => scopes.at(-1)?.fault('unhandled rejection', new Error('forgotten'));
  const apply = (next: Config) => world.clock.run(changes.apply(next));
  return { rooms, world, context, providers, pools, changes, scopes, gate, fault, apply };
}

describe('a configuration', () => {
  it('is in force for providers and pools when it is applied', async () => {
    const { context, pools, apply } = await setUp();
    const next = configOf(poolConfig('main', ['a', 'b']), poolConfig('other', ['a']));

    await apply(next);

    expect(context.config.now).toBe(next);
    expect(pools.configured.map(({ view }) => [view.pool.name, [...view.pool.labels.keys()]])).toEqual([
      ['main', ['a', 'b']],
      ['other', ['a']],
    ]);
  });

  it('is applied after the one before, however long that takes', async () => {
    const { context, world, changes, gate, pools } = await setUp();
    let started = (): void => undefined;
    gate.start = () => new Promise((resolve) => (started = resolve));
    const [first, last] = [configOf(poolConfig('first', ['a'])), configOf(poolConfig('last', ['a']))];

    const applied = [changes.apply(first), changes.apply(last)];
    await world.pass(1_000);
    const meanwhile = context.config.now;
    gate.start = () => Promise.resolve();
    started();
    await world.clock.run(Promise.all(applied));

    expect([meanwhile, context.config.now]).toEqual([first, last]);
    expect(pools.configured.map(({ view }) => view.pool.name)).toEqual(['last']);
  });
});

describe('a provider whose driver causes an error outside of any call', () => {
  it('does not run until it is restarted, once for several errors', async () => {
    const { world, providers, scopes, fault } = await setUp();
    const before = providers.get('p');

    fault();
    fault();
    const { running, startFailure } = before ?? {};
    await world.pass(2_000);

    expect([running, startFailure?.message]).toEqual([false, 'unhandled rejection of driver "idle": forgotten']);
    expect(providers.get('p')).not.toBe(before);
    expect([providers.get('p')?.running, scopes.length]).toEqual([true, 2]);
  });

  it('is restarted after a longer pause if it has just been restarted', async () => {
    const { world, scopes, fault } = await setUp();
    fault();
    await world.pass(1_000);
    fault();
    await world.pass(700);
    const [restarts] = [scopes.length - 1];

    await world.pass(2_000);

    expect([restarts, scopes.length - 1]).toEqual([1, 2]);
  });

  it('is not restarted if it has been replaced, or the launcher drains', async () => {
    const { world, context, scopes, fault, apply } = await setUp();
    const [old] = scopes;
    await apply(configOf(poolConfig('main', ['b'])));
    old?.fault('uncaught exception', new Error('forgotten'));
    context.life.isDraining = true;
    fault();

    await world.pass(120_000);

    expect(scopes).toHaveLength(2);
  });
});
