import type { LauncherId, NodeFields, NodeId } from '@nodepool/zk-protocol';
import { afterEach, describe, expect, it } from 'vitest';
import { LauncherRooms } from '../../../test/support/launcher-rooms.js';
import { Standby } from './standby.js';
import { SurplusNodes } from './surplus-nodes.js';

const MINUTE_MS = 60_000;
let standby: Standby;
afterEach(() => standby.stop());

/** A launcher whose labels `a` and `b` have `standby`, and that is the first one of them. */
async function setUp({ isFirst = true } = {}) {
  const rooms = await LauncherRooms.open();
  const { world } = rooms;
  const { config, mirror } = world.context;
  const goal = { targetWaitMs: 5_000, idleBudget: undefined, atMost: 9 };
  const labels = new Map([...config.now.labels].map(([name, label]) => [name, { ...label, standby: goal }]));
  config.now = { ...config.now, labels };
  if (!isFirst) await rooms.register();
  const [own] = rooms.views.all;
  await rooms.register({ launcherId: own?.launcherId ?? ('' as LauncherId) });
  standby = new Standby(world.context, rooms.views, rooms.spares);
  const surplus = new SurplusNodes(world.context, rooms.providers, standby);
  return {
    world,
    requests: mirror.requests,
    create: (...fields: NodeFields[]) =>
      fields.reduce<Promise<NodeId[]>>(
        async (ids, each) => [...(await ids), await world.createNode(each)],
        Promise.resolve([]),
      ),
    keep: (nodes: number, isFallback = false) => {
      const level = { nodes, reason: 'demand', isFallback };
      standby.keep(new Map(['a', 'b'].map((label) => [label, level])));
    },
    sweep: async () => {
      await world.clock.run(surplus.sweep());
      await world.pass(200);
    },
    statesOf: (ids: readonly NodeId[]) => ids.map((id) => mirror.nodes.get(id)?.state),
  };
}

describe('standby nodes that follow demand', () => {
  it('are requested up to the computed number', async () => {
    const { world, keep, requests } = await setUp();

    keep(3);
    await world.pass(1_000);

    expect([...requests.values()].map(({ labels }) => labels[0]).sort()).toEqual(['a', 'a', 'a', 'b', 'b', 'b']);
    expect(standby.explain('a')).toEqual({
      label: 'a',
      nodes: 3,
      ready: 0,
      reason: 'demand',
      isFallback: false,
      decides: true,
    });
  });

  it('are left to the first launcher of the label, which alone decides', async () => {
    const { world, keep, requests } = await setUp({ isFirst: false });

    keep(3);
    await world.pass(MINUTE_MS);

    expect(requests.size).toBe(0);
    expect(standby.explain('a')).toMatchObject({ nodes: 3, decides: false });
  });

  it('are min-ready while there is no forecast', async () => {
    const { world, requests } = await setUp();

    standby.checkAll();
    await world.pass(1_000);

    expect([...requests.values()].map(({ labels }) => labels)).toEqual([['a']]);
  });
});

describe('surplus nodes', () => {
  it('are deleted, the oldest first, once they have been free for a minute', async () => {
    const { world, create, keep, sweep, statesOf } = await setUp();
    const ids = await create({}, {}, {});
    keep(1);

    await sweep();
    const early = statesOf(ids);
    await world.pass(MINUTE_MS);
    await sweep();

    expect(early).toEqual(['ready', 'ready', 'ready']);
    expect(statesOf(ids)).toEqual(['deleting', 'deleting', 'ready']);
  });

  it('stay once the demand has risen, or one was taken, while others were being deleted', async () => {
    const { world, create, keep, sweep, statesOf } = await setUp();
    const ids = await create(...Array<NodeFields>(10).fill({}));
    await world.pass(MINUTE_MS);
    keep(1);

    const swept = sweep();
    world.clock.setTimer(25, () => keep(9));
    await swept;

    expect(statesOf(ids).filter((state) => state === 'ready').length).toBeGreaterThanOrEqual(6);
  });

  it('stay while min-ready applies, in use, allocated, of providers of others, and with a label that needs them', async () => {
    const { world, create, keep, sweep, statesOf } = await setUp();
    const ids = await create(
      {},
      { state: 'in-use' },
      { allocatedTo: '200-0000000099' as never },
      { provider: 'elsewhere' },
      { labels: ['a', 'c'] },
    );
    const before = statesOf(ids);
    await world.pass(MINUTE_MS);

    keep(0, true);
    await sweep();
    const fallback = statesOf(ids);
    keep(0);
    await sweep();

    expect(fallback).toEqual(before);
    expect(statesOf(ids)).toEqual(['deleting', ...before.slice(1)]);
  });
});
