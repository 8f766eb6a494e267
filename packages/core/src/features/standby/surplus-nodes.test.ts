import {
  encodeRequest,
  newRequest,
  requestCreatePath,
  requestPath,
  type LauncherId,
  type NodeFields,
  type NodeId,
  type RequestId,
} from '@nodepool/zk-protocol';
import { afterEach, describe, expect, it } from 'vitest';
import { LauncherRooms, OURS } from '../../../test/support/launcher-rooms.js';
import type { NodeLevel } from '../../launcher/plan/nodes.js';
import { Standby } from './standby.js';
import { SurplusNodes } from './surplus-nodes.js';

const MINUTE_MS = 60_000;
let standby: Standby;
afterEach(() => standby.stop());

/**
 * A launcher whose labels `a` and `b` have `standby`, and that is the first one of them.
 * In one piece: each function needs the world.
 */
async function setUp({ isFirst = true, hasForecast = true } = {}) {
  const rooms = await LauncherRooms.open();
  const { world } = rooms;
  const { config, mirror } = world.context;
  const settings = { schedule: [], timeZone: 'UTC', followMs: 3_600_000, auto: false, goal: undefined, atMost: 9 };
  let levels: ReadonlyMap<string, NodeLevel> = new Map();
  rooms.features.push({ target: ({ name }) => levels.get(name) });
  const labels = new Map(
    [...config.now.labels].map(([name, label]) => [name, { ...label, ...(hasForecast && { standby: settings }) }]),
  );
  config.now = { ...config.now, labels };
  if (!isFirst) await rooms.register(OURS);
  await rooms.registerOwn();
  standby = new Standby(world.context, rooms.views, rooms.levels, [rooms.spares]);
  const surplus = new SurplusNodes(world.context, rooms.providers, rooms.levels, world.clock);
  return {
    ...{ world, rooms },
    /** Another launcher requests nodes for its `min-ready`, gets them, and removes its requests. */
    request: async (count: number) => {
      const { clock, other } = world;
      const fields = { labels: ['a'], requestor: 'NodePool:min-ready', reuse: false };
      const body = encodeRequest(newRequest(fields, clock.now()));
      const paths = await clock.run(
        Promise.all(
          Array.from({ length: count }, () =>
            other.create(requestCreatePath(900), body, { ephemeral: true, sequential: true }),
          ),
        ),
      );
      await world.pass(1_000);
      for (let i = 0; i < count; i++) await world.createNode({});
      await clock.run(Promise.all(paths.map((path) => other.delete(requestPath(path.split('/').at(-1) as RequestId)))));
      await world.pass(MINUTE_MS);
    },
    requests: mirror.requests,
    create: (...fields: NodeFields[]) =>
      fields.reduce<Promise<NodeId[]>>(
        async (ids, each) => [...(await ids), await world.createNode(each)],
        Promise.resolve([]),
      ),
    keep: (nodes: number, isFallback = false) => {
      const level = { nodes, reason: 'demand', isFallback };
      levels = new Map(['a', 'b'].map((label) => [label, level]));
      standby.reconsider();
    },
    sweep: async () => {
      await world.clock.run(surplus.reconsider('minute'));
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
      reason: expect.stringMatching(/^demand; some are requested: /) as string,
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

  it('are at most as many as at-most says', async () => {
    const { world, keep, requests } = await setUp();

    keep(30);
    await world.pass(1_000);

    expect([...requests.values()].filter(({ labels }) => labels[0] === 'a')).toHaveLength(9);
  });

  it('are min-ready while no number is known', async () => {
    const { world, requests } = await setUp();

    standby.reconsider();
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

  it.each([-10, 10])(
    'go by the clock of the server, where that of their launcher is %i minutes ahead',
    async (minutes) => {
      const { world, create, keep, sweep, statesOf } = await setUp();
      const ids = await create({ stateTimeMs: world.clock.now() + minutes * MINUTE_MS });
      keep(0);

      await sweep();
      const early = statesOf(ids);
      await world.pass(MINUTE_MS);
      await sweep();

      expect([early, statesOf(ids)]).toEqual([['ready'], ['deleting']]);
    },
  );

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

const STOPPED = { state: 'testing', launchState: { start: true }, externalId: 'i-1' } as const;

describe('beside a launcher that requests nodes for its own min-ready', () => {
  const countOf = (states: readonly unknown[], state: string) => states.filter((each) => each === state).length;
  const all = ({ world }: Awaited<ReturnType<typeof setUp>>) =>
    [...world.context.mirror.nodes.values()].map(({ state }) => state);

  it('surplus nodes stay up to what it requests, until it is gone', async () => {
    const ground = await setUp();
    const { rooms, keep, request, sweep, world } = ground;
    const original = await rooms.register({ launcherId: 'original' as LauncherId });
    keep(0);
    await request(4);
    await world.createNode({});
    await world.pass(MINUTE_MS);

    await sweep();
    const during = countOf(all(ground), 'ready');
    const { reason } = rooms.levels.level('a') ?? {};
    await world.clock.run(world.other.delete(original));
    await world.pass(1_000);
    await sweep();

    expect([during, countOf(all(ground), 'ready')]).toEqual([4, 0]);
    expect(reason).toBe('demand; 4 stay, as other launchers request them for their min-ready');
  });

  it('one node an hour goes, so that a lower min-ready takes effect', async () => {
    const ground = await setUp();
    const { rooms, keep, request, sweep, world } = ground;
    await rooms.register({ launcherId: 'original' as LauncherId });
    keep(0);
    await request(4);

    await world.pass(125 * MINUTE_MS);
    await sweep();

    expect(countOf(all(ground), 'ready')).toBe(2);
  });

  it('stopped nodes that it does not count go first, and those that run stay', async () => {
    const ground = await setUp();
    const { rooms, keep, request, sweep, world } = ground;
    await rooms.register({ launcherId: 'original' as LauncherId });
    for (let i = 0; i < 3; i++) await world.createNode(STOPPED);
    keep(1);
    await request(2);

    await sweep();

    expect([countOf(all(ground), 'testing'), countOf(all(ground), 'ready')]).toEqual([0, 2]);
  });
});

it('deletes stopped nodes above min-ready, and none that run: requests take those', async () => {
  const { world, create, sweep, statesOf } = await setUp({ hasForecast: false });
  const ids = await create(STOPPED, {}, STOPPED, {}, STOPPED);
  await world.pass(MINUTE_MS);

  await sweep();

  expect(statesOf(ids)).toEqual(['deleting', 'ready', 'deleting', 'ready', 'deleting']);
});
