import {
  newNode,
  newPoolComponent,
  type LauncherId,
  type NodeId,
  type NodeRecord,
  type PoolComponentRecord,
} from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { FIRST_POOL_PAUSE_MS } from '../health/first-pool.js';
import { SharedPools } from './shared-pools.js';

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
function seenBy(launcher: string, pools: PoolComponentRecord[]): SharedPools {
  const own = pools.map(({ launcherId }) => launcherId).filter((id) => id.startsWith(`${launcher}-`));
  return new SharedPools({ pools }, new Set(own));
}

const nodes = Array.from({ length: 200 }, (_, i): NodeRecord => {
  const node = newNode({ state: 'ready', labels: ['small'], provider: 'rack', pool: 'main' }, 0);
  return { ...node, id: String(i).padStart(10, '0') as NodeId };
});

describe('a pool that several launchers have', () => {
  const launchers = ['nl01', 'nl02', 'nl03', 'nl04'];
  const pools = launchers.map((launcher) => poolOf(launcher));
  const views = launchers.map((launcher) => seenBy(launcher, pools));

  it('has one launcher for each node that deals with it first, the same for all of them', () => {
    const firsts = nodes.map((node) => views.filter((view) => !view.isOthersFirst(node)).length);

    expect(new Set(firsts)).toEqual(new Set([1]));
    for (const view of views) expect(nodes.filter((node) => !view.isOthersFirst(node)).length).toBeGreaterThan(25);
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
])('nothing is left to others where %s', (_, pools) => {
  const view = seenBy('nl01', pools);

  expect(nodes.filter((node) => view.isOthersFirst(node))).toEqual([]);
  expect(view.ownFirst(nodes, 'rack', 'main')).toBe(nodes);
});
