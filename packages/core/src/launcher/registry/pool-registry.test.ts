import {
  COMPONENTS_ROOT,
  createComponentCache,
  encodeComponent,
  newPoolComponent,
  newRequest,
  type LauncherId,
  type RequestId,
} from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { configOf } from '../../../test/support/serving-config.js';
import { poolConfig } from '../../../test/support/pool-config.js';
import { ServiceWorld } from '../../../test/support/service-world.js';
import { poolKey } from '../state/pool-key.js';
import { PoolRegistry } from './pool-registry.js';

const KEY = poolKey('p', 'main');
const request = { ...newRequest({ labels: ['a'] }, 0), id: '200-0000000001' as RequestId };
const names = { hostname: 'nl02', version: '1', name: 'main', providerName: 'p' };
const THEIRS = 'theirs' as LauncherId;

/** The registry of a launcher that has begun to serve, and how pools are registered. */
async function setUp() {
  const world = await ServiceWorld.open();
  const components = createComponentCache(world.context);
  const registry = new PoolRegistry(world.context, components);
  await world.clock.run(world.other.ensurePath(`${COMPONENTS_ROOT}/pool`));
  await world.clock.run(components.start());
  registry.begin([]);
  await world.pass(11_000);
  const create = (launcherId: LauncherId) =>
    world.other.create(
      `${COMPONENTS_ROOT}/pool/nl02-`,
      encodeComponent(newPoolComponent({ ...names, launcherId, supportedLabels: ['a'] })),
      { sequential: true },
    );
  return {
    ...{ world, registry, create },
    /** @returns the path of the entry */
    register: async (launcherId: LauncherId) => {
      const path = await world.clock.run(create(launcherId));
      await world.pass(100);
      return path;
    },
  };
}

describe('candidates for requests', () => {
  it('are pools of the configuration before they are registered, and each once after that', async () => {
    const { registry, register } = await setUp();
    registry.expect(configOf(poolConfig('main', ['a', 'b'], { priority: 7 })));
    const own = registry.idOf(KEY);
    const before = registry.candidates;

    await register(own);

    expect(before).toMatchObject([
      { launcherId: own, providerName: 'p', name: 'main', supportedLabels: ['a', 'b'], priority: 7, hostname: 'nl01' },
    ]);
    expect(registry.candidates.map(({ launcherId }) => launcherId)).toEqual([own]);
    expect([registry.registered.has(own), registry.registered.has(THEIRS)]).toEqual([true, false]);
  });

  it('are those of other launchers as long as they are registered', async () => {
    const { world, registry, register } = await setUp();
    const path = await register(THEIRS);
    const before = registry.candidates.map(({ launcherId }) => launcherId);

    await world.clock.run(world.other.delete(path));
    await world.pass(100);

    expect([before, registry.candidates]).toEqual([[THEIRS], []]);
  });

  it('keep their id when a reload keeps them, and remain own when it does not', async () => {
    const { registry } = await setUp();
    registry.expect(configOf(poolConfig('main', ['a'])));
    const own = registry.idOf(KEY);

    registry.expect(configOf(poolConfig('main', ['b']), poolConfig('other', ['a'])));
    expect(registry.idOf(KEY)).toBe(own);

    registry.expect(configOf(poolConfig('other', ['a'])));
    expect(() => registry.idOf(KEY)).toThrow('is not in the configuration');
    expect([registry.isOwn(own), registry.isOwn(THEIRS)]).toEqual([true, false]);
    expect(registry.candidates).toHaveLength(1);
  });

  it('are no longer pools that will not be registered after all', async () => {
    const { registry } = await setUp();
    registry.expect(configOf(poolConfig('main', ['a']), poolConfig('other', ['a'])));

    expect(registry.keepOnly(new Set([KEY]))).toBe(true);
    expect(registry.candidates).toMatchObject([{ name: 'main' }]);
    expect(registry.keepOnly(new Set([KEY]))).toBe(false);
  });
});

describe('a request', () => {
  it('is refused by all once each candidate has declined it or is about to', async () => {
    const { world, registry, register } = await setUp();
    registry.expect(configOf(poolConfig('main', ['a'])));
    const own = registry.idOf(KEY);
    await register(THEIRS);
    const declined = { ...request, declinedBy: [THEIRS] };

    expect(registry.seemsRefusedByAll(declined)).toBe(false);
    expect(registry.seemsRefusedByAll(declined, own)).toBe(true);
    expect(registry.seemsRefusedByAll(request, own)).toBe(false);
    expect(await world.clock.run(registry.isRefusedByAll(declined, own))).toBe(true);
  });

  it('is not refused by all while the entry of a pool that was just registered is still being read', async () => {
    const { world, registry, create } = await setUp();

    const before = await world.clock.run(registry.isRefusedByAll(request));
    const [, after] = await world.clock.run(Promise.all([create(THEIRS), registry.isRefusedByAll(request)]));

    expect([before, after]).toEqual([true, false]);
  });
});

it('emits changes of registered pools until it is closed', async () => {
  const { world, registry, register } = await setUp();
  const told: unknown[] = [];
  world.context.events.on('poolChanged', ({ before, after }) => told.push([before?.launcherId, after?.launcherId]));
  await register(THEIRS);

  registry.stop();
  await register('another' as LauncherId);

  expect(told).toEqual([[undefined, THEIRS]]);
});
