import {
  COMPONENTS_ROOT,
  createComponentCache,
  encodeComponent,
  newComponent,
  newPoolComponent,
  newRequest,
  type LauncherId,
  type RequestId,
} from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { ServiceWorld } from '../../../test/support/service-world.js';
import type { UnservedProvider } from '../../contract/config.js';
import { configOf } from '../../../test/support/serving-config.js';
import { poolConfig } from '../../../test/support/pool-config.js';
import { poolKey } from '../state/pool-key.js';
import { PoolRegistry } from './pool-registry.js';

const SETTLING_MS = 10_000;
const RETURN_MS = 30_000;
const LONGEST_START_MS = 60_000;
const request = { ...newRequest({ labels: ['a'] }, 0), id: '100-0000000000' as RequestId };

/** In one piece: a registry with these pools of label `a`, of which `own` is this launcher's. */
async function setUp(...pools: string[]) {
  const world = await ServiceWorld.open();
  const { clock, other } = world;
  const components = createComponentCache(world.context);
  const registry = new PoolRegistry(world.context, components);
  registry.expect(configOf(poolConfig('main', ['a'])));
  const own = registry.idOf(poolKey('p', 'main'));
  let settled = 0;
  world.context.events.on('registrySettled', () => settled++);
  const create = async (kind: 'pool' | 'launcher', body: Buffer) => {
    await clock.run(other.ensurePath(`${COMPONENTS_ROOT}/${kind}`));
    const path = await clock.run(other.create(`${COMPONENTS_ROOT}/${kind}/there-`, body, { sequential: true }));
    await world.pass(100);
    return path;
  };
  const register = (name: string) => {
    const launcherId = name === 'own' ? own : (name as LauncherId);
    const names = { name: 'main', providerName: 'theirs', hostname: 'there', version: '1', supportedLabels: ['a'] };
    return create('pool', encodeComponent(newPoolComponent({ ...names, launcherId })));
  };
  const launcherOf = (state: 'initializing' | 'running') =>
    encodeComponent(newComponent({ kind: 'launcher', hostname: 'there', state, version: '1' }));
  await clock.run(components.start());
  const paths = new Map<string, string>();
  for (const id of pools) paths.set(id, await register(id));
  return {
    ...{ world, registry, register },
    isComplete: () => registry.isCompleteFor(request),
    settled: () => settled,
    /** A launcher begins to start. @returns tells that it runs */
    start: async () => {
      const path = await create('launcher', launcherOf('initializing'));
      return async () => {
        await clock.run(other.setData(path, launcherOf('running')));
        await world.pass(100);
      };
    },
    leave: async (id: string) => {
      await clock.run(other.delete(paths.get(id) ?? ''));
      await world.pass(100);
    },
  };
}

/** The same, some time after this launcher has begun to serve. */
async function setUpSettled(...pools: string[]) {
  const all = await setUp(...pools);
  all.registry.begin([]);
  await all.world.pass(SETTLING_MS);
  return all;
}

describe('the registry', () => {
  it('is not complete before this launcher has begun to serve', async () => {
    const { registry, isComplete } = await setUp('own');

    const before = isComplete();
    registry.begin([]);

    expect([before, isComplete()]).toEqual([false, true]);
  });

  it.each([
    ['requests that were there before it', ['own'], [request.id]],
    ['all requests while there are others', ['own', 'other'], []],
  ])('is not complete for a while after that for %s', async (_for, pools, waiting) => {
    const { registry, isComplete, settled, world } = await setUp(...pools);

    registry.begin(waiting);
    const first = [isComplete(), settled()];
    await world.pass(SETTLING_MS);

    expect([...first, isComplete(), settled()]).toEqual([false, 0, true, 1]);
  });

  it('says so when it is whole again after a lost connection, as requests may have been judged before', async () => {
    const { world, settled } = await setUpSettled('own', 'other');
    const before = settled();

    world.link.break();
    await world.pass(20_000);

    expect([before, settled()]).toEqual([1, 2]);
  });

  it('is not complete for a while while nodes are there of providers that only others have', async () => {
    const { registry, isComplete, world } = await setUp('own');
    await world.createNode({ provider: 'unknown' });

    registry.begin([]);

    expect(isComplete()).toBe(false);
  });

  it('is not complete for a while if a provider of the configuration is left to others', async () => {
    const { registry, isComplete, world } = await setUp('own');
    world.context.config.now = { ...world.context.config.now, unserved: new Map([['far', {} as UnservedProvider]]) };

    registry.begin([]);

    expect(isComplete()).toBe(false);
  });

  it('lacks a pool that has just left, and may be back', async () => {
    const { isComplete, leave, settled, world, registry } = await setUpSettled('own', 'other');

    await leave('other');
    const first = isComplete();
    const ofDeclined = registry.isCompleteFor({ ...request, declinedBy: ['other'] });
    const ofOthers = registry.isCompleteFor({ ...request, labels: ['b'] });
    await world.pass(RETURN_MS);

    expect([first, ofDeclined, ofOthers, isComplete()]).toEqual([false, true, true, true]);
    expect(settled()).toBe(2);
  });

  it('is complete when a pool is back', async () => {
    const { isComplete, leave, register, settled, world } = await setUpSettled('own', 'other');
    await leave('other');

    await register('other');
    const first = isComplete();
    await world.pass(RETURN_MS);

    expect([first, settled()]).toEqual([true, 1]);
  });

  it('does not lack pools of this launcher that leave', async () => {
    const { isComplete, leave } = await setUpSettled('own');

    await leave('own');

    expect(isComplete()).toBe(true);
  });

  it('is not complete while another launcher starts', async () => {
    const { isComplete, start, settled } = await setUpSettled('own');

    const run = await start();
    const before = [isComplete(), settled()];
    await run();

    expect([...before, isComplete(), settled()]).toEqual([false, 1, true, 2]);
  });

  it('is complete when a launcher takes too long to start', async () => {
    const { isComplete, start, settled, world } = await setUpSettled('own');
    await start();

    await world.pass(LONGEST_START_MS);

    expect([isComplete(), settled()]).toEqual([true, 2]);
  });

  it('is not waited for any more after the end', async () => {
    const { registry, leave, settled, world } = await setUpSettled('own', 'other');
    await leave('other');

    registry.stop();
    await world.pass(RETURN_MS);

    expect(settled()).toBe(1);
  });
});

describe('a label', () => {
  it('of this launcher is known before its pools are registered, and while they are registered again', async () => {
    const { registry } = await setUp();
    registry.begin([]);

    expect([registry.pools, registry.isUnknownLabel('a'), registry.isUnknownLabel('b')]).toEqual([[], false, true]);
  });

  it('may be of a launcher that has yet to register, and is unknown after that', async () => {
    const { registry, start } = await setUp();
    registry.begin([]);
    const run = await start();
    const before = registry.isUnknownLabel('b');
    await run();

    expect([before, registry.isUnknownLabel('b')]).toEqual([false, true]);
  });
});
