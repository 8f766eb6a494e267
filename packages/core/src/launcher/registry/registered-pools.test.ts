import {
  COMPONENTS_ROOT,
  createComponentCache,
  encodeComponent,
  newComponent,
  newNode,
  newPoolComponent,
  withComponent,
  type ComponentRecord,
  type LauncherId,
  type NodeId,
  type NodeRecord,
  type PoolComponentRecord,
} from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { ServiceWorld } from '../../../test/support/service-world.js';
import { LauncherEvents, type PoolChange } from '../state/events.js';
import { FIRST_POOL_PAUSE_MS } from '../plan/first-pool.js';
import { RegisteredPools } from './registered-pools.js';

const ID = 'theirs' as LauncherId;
const pool = newPoolComponent({
  ...{ hostname: 'nl02', version: '1', launcherId: ID, name: 'main', providerName: 'p', supportedLabels: ['a'] },
});

async function setUp() {
  const world = await ServiceWorld.open();
  const { clock, other } = world;
  const components = createComponentCache(world.context);
  const registered = new RegisteredPools(components, world.context.events, new Set());
  await clock.run(components.start());
  const changes: PoolChange[] = [];
  world.context.events.on('poolChanged', (change) => changes.push(change));
  return {
    ...{ registered, changes },
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

it('shows pools that come, change and go, in a new array each time', async () => {
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

it('ignores other components', async () => {
  const { registered, changes, register } = await setUp();
  await register(pool);
  const before = registered.pools;

  await register(newComponent({ kind: 'launcher', hostname: 'nl02', state: 'running', version: '1' }));

  expect(registered.pools).toBe(before);
  expect(changes).toHaveLength(1);
});

it('has a pool as long as one of its entries exists', async () => {
  const { registered, register, remove } = await setUp();
  const [first, second] = [await register(pool), await register(pool)];
  await remove(first);
  const before = registered.has(ID);
  await remove(second);

  expect([before, registered.has(ID)]).toEqual([true, false]);
});

it('emits nothing after it was closed', async () => {
  const { registered, changes, register } = await setUp();

  registered.close();
  await register(pool);

  expect(changes).toEqual([]);
});

/** The pool of that name, of provider `rack`, in a launcher. */
function poolOf(launcher: string, fields: Partial<PoolComponentRecord> = {}): PoolComponentRecord {
  const launcherId = `${launcher}-PoolWorker.rack-main-0` as LauncherId;
  return newPoolComponent({
    ...{ hostname: launcher, version: '1', launcherId, name: 'main', providerName: 'rack' },
    firstPoolPauseMs: FIRST_POOL_PAUSE_MS,
    ...fields,
  });
}

/** Pools as one of the launchers sees them. */
function seenBy(launcher: string, pools: PoolComponentRecord[]): RegisteredPools {
  const own = pools.map(({ launcherId }) => launcherId).filter((id) => id.startsWith(`${launcher}-`));
  const components = { values: () => pools.values(), onChange: () => () => undefined };
  return new RegisteredPools(components, new LauncherEvents(), new Set(own));
}

const nodes = Array.from({ length: 200 }, (_, i): NodeRecord => {
  const node = newNode({ state: 'ready', labels: ['small'], provider: 'rack', pool: 'main' }, 0);
  return { ...node, id: String(i).padStart(10, '0') as NodeId };
});

describe('a pool that several launchers have', () => {
  const launchers = ['nl01', 'nl02', 'nl03', 'nl04'];
  const pools = launchers.map((launcher) => poolOf(launcher));
  const views = launchers.map((launcher) => seenBy(launcher, pools));

  it('has one launcher for each node that handles it first, the same for all of them', () => {
    const firsts = nodes.map((node) => views.filter((view) => view.isFirstPoolFor(node)).length);

    expect(new Set(firsts)).toEqual(new Set([1]));
    for (const view of views) expect(nodes.filter((node) => view.isFirstPoolFor(node)).length).toBeGreaterThan(25);
  });

  it('has each launcher begin with other nodes, and end with all of them', () => {
    const orders = views.map((view) => [...view.ownFirst(nodes, 'rack', 'main')]);

    expect(new Set(orders.map(([node]) => node?.id)).size).toBe(launchers.length);
    for (const order of orders) expect(new Set(order)).toEqual(new Set(nodes));
  });

  it('finds an own node without looking at all others', () => {
    let seen = 0;
    const counted = nodes.map((node) => ({
      ...node,
      get id() {
        seen++;
        return node.id;
      },
    }));
    for (const _ of seenBy('nl09', [...pools, poolOf('nl09')]).ownFirst(counted, 'rack', 'main')) break;

    expect(seen).toBeLessThan(70);
  });
});

it.each([
  ['this launcher alone has it', [poolOf('nl01')]],
  ['the others do not know of sharing', [poolOf('nl01'), poolOf('nl02', { firstPoolPauseMs: null })]],
  ['this launcher has steering switched off', [poolOf('nl01', { firstPoolPauseMs: null }), poolOf('nl02')]],
  ['the others have another pool of the provider', [poolOf('nl01'), poolOf('nl02', { name: 'other' })]],
  ['others share it among them', [poolOf('nl02'), poolOf('nl03')]],
])('no node is left to others where %s', (_, pools) => {
  const view = seenBy('nl01', pools);

  expect(nodes.filter((node) => !view.isFirstPoolFor(node))).toEqual([]);
  expect(view.ownFirst(nodes, 'rack', 'main')).toBe(nodes);
});
