import {
  COMPONENTS_ROOT,
  createComponentCache,
  encodeComponent,
  newComponent,
  newPoolComponent,
  withComponent,
  type ComponentRecord,
  type LauncherId,
} from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { ServiceWorld } from '../../../test/support/service-world.js';
import { RegisteredPools, type PoolChange } from './registered-pools.js';

const ID = 'theirs' as LauncherId;
const pool = newPoolComponent({
  ...{ hostname: 'nl02', version: '1', launcherId: ID, name: 'main', providerName: 'p', supportedLabels: ['a'] },
});

async function setUp() {
  const world = await ServiceWorld.open();
  const { clock, other } = world;
  const components = createComponentCache(world.context);
  const registered = new RegisteredPools(components);
  await clock.run(components.start());
  const changes: PoolChange[] = [];
  const end = registered.onChange((change) => changes.push(change));
  return {
    ...{ registered, changes, end },
    register: async (component: ComponentRecord) => {
      await clock.run(other.ensurePath(`${COMPONENTS_ROOT}/${component.kind}`));
      const path = `${COMPONENTS_ROOT}/${component.kind}/nl02-`;
      const made = await clock.run(other.create(path, encodeComponent(component), { sequential: true }));
      await world.pass(100);
      return made;
    },
    write: async (path: string, component: ComponentRecord) => {
      await clock.run(other.setData(path, encodeComponent(component)));
      await world.pass(100);
    },
    remove: async (path: string) => {
      await clock.run(other.delete(path));
      await world.pass(100);
    },
  };
}

it('pools come, change and go, in a new array each time', async () => {
  const { registered, changes, register, write, remove } = await setUp();
  const empty = registered.pools;
  const path = await register(pool);
  const one = registered.pools;
  await write(path, withComponent(pool, { priority: 7 }));
  const changed = registered.pools;
  await remove(path);

  expect([empty, one.length, changed.map(({ priority }) => priority), registered.pools]).toEqual([[], 1, [7], []]);
  expect(changes.map(({ before, after }) => [before?.priority, after?.priority])).toEqual([
    [undefined, 100],
    [100, 7],
    [7, undefined],
  ]);
});

it('other components are none of their business', async () => {
  const { registered, changes, register } = await setUp();
  await register(pool);
  const before = registered.pools;

  await register(newComponent({ kind: 'launcher', hostname: 'nl02', state: 'running', version: '1' }));

  expect(registered.pools).toBe(before);
  expect(changes).toHaveLength(1);
});

it('a pool is there as long as one of its entries is', async () => {
  const { registered, register, remove } = await setUp();
  const [first, second] = [await register(pool), await register(pool)];
  await remove(first);
  const before = registered.has(ID);
  await remove(second);

  expect([before, registered.has(ID)]).toEqual([true, false]);
});

it.each(['listener', 'all'] as const)('nothing is told after the end (%s)', async (which) => {
  const { registered, changes, end, register } = await setUp();

  if (which === 'all') registered.close();
  else end();
  await register(pool);

  expect(changes).toEqual([]);
});
