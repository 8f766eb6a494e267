import {
  encodeNode,
  lockOps,
  nodeLockPath,
  nodePath,
  withNode,
  type JsonObject,
  type LauncherId,
  type NodeFields,
  type NodeId,
  type NodeRecord,
  type PoolComponentRecord,
} from '@nodepool/zk-protocol';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { launchingDrivers, LauncherRooms, OURS, standbyConfig } from '../../../test/support/launcher-rooms.js';
import type { Config } from '../../contract/config.js';
import { LaunchError, NotFoundError, ProviderUnavailableError, RateLimitedError } from '../../contract/errors.js';
import { IdleNodes } from '../../launcher/nodes/idle-nodes.js';
import { stoppedSpares } from './index.js';

const STARTS = { attempt: 1, start: true, state: { name: 'starting', externalId: 'i-1' } };

let stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops) stop();
});

function labelsOf(keep: 'stopped' | undefined, minReady = 1): Config['labels'] {
  return new Map(['a', 'b'].map((name) => [name, { name, minReady, maxReadyAgeMs: 0, keep }] as const));
}

const configOf = (keep: 'stopped' | undefined): Config => ({ ...standbyConfig, labels: labelsOf(keep) });

/** A launcher whose driver stops nodes as told. */
async function setUp(
  stopNode: () => Promise<JsonObject> = () => Promise.resolve(STARTS),
  others: readonly Partial<PoolComponentRecord>[] = [],
) {
  const seen: unknown[] = [];
  const able = { resumes: true, stops: true };
  const drivers = launchingDrivers(
    {
      stopNode: async (node) => {
        const { state, comment } = node;
        seen.push({ state, comment, locked: rooms.world.context.mirror.nodes.contenders(node.id) });
        return stopNode();
      },
    },
    able,
  );
  const rooms: LauncherRooms = await LauncherRooms.open(configOf('stopped'), drivers);
  for (const other of others) await rooms.register({ launcherId: 'older' as LauncherId, ...other });
  await rooms.registerOwn();
  stops = [() => void rooms.spares.stop?.(), () => rooms.idle.stop()];
  const { world } = rooms;
  const { mirror, config } = world.context;
  const node = (id: NodeId) => mirror.nodes.get(id);
  return {
    ...{ world, seen, node, rooms },
    create: (fields: NodeFields = {}) => world.createNode({ externalId: 'i-1', ...fields }),
    states: () => {
      const counts: Record<string, number> = {};
      for (const { state } of mirror.nodes.values()) counts[state] = (counts[state] ?? 0) + 1;
      return counts;
    },
    isLocked: (id: NodeId) => mirror.nodes.contenders(id) > 0,
    isFree: (id: NodeId) => mirror.free('p', 'main').has(id),
    keep: (keep: 'stopped' | undefined) => (config.now = configOf(keep)),
    sweep: async () => {
      rooms.idle.reconsider();
      await world.pass(1_000);
    },
  };
}

/** The condition of label `a`. */
const blocker = ({ spares }: LauncherRooms) => spares.conditions?.(0).find(({ name }) => name === 'a');

describe('a free node of a label that keeps stopped nodes', () => {
  it('is stopped after a moment: it is not ready any more before its instance is stopped', async () => {
    const { world, create, node, seen, isFree, isLocked } = await setUp();
    const id = await create();

    await world.pass(4_000);
    const before = node(id)?.state;
    await world.pass(2_000);

    expect(before).toBe('ready');
    expect(seen).toEqual([{ state: 'testing', comment: 'standby node, stopped until a request needs it', locked: 1 }]);
    expect(node(id)).toMatchObject({ state: 'testing', allocatedTo: null, launchState: STARTS });
    expect([isLocked(id), isFree(id), world.context.mirror.idleCount('a')]).toEqual([false, true, 1]);
  });

  it.each([-10, 10])('is stopped then too where the clock of its launcher is %i minutes ahead', async (minutes) => {
    const { world, create, node, sweep } = await setUp();
    const id = await create({ stateTimeMs: world.clock.now() + minutes * 60_000 });

    await sweep();
    const before = node(id)?.state;
    await world.pass(5_000);

    expect([before, node(id)?.state]).toEqual(['ready', 'testing']);
  });

  it('is stopped then too where the time of the server is estimated a moment too early', async () => {
    const { world, create, node, rooms } = await setUp();
    const { context } = world;
    rooms.idle.stop();
    const idle = new IdleNodes(context);
    const serverClock = { now: () => world.clock.now() - 50 };
    const spares = stoppedSpares(rooms.engine({ idle, serverClock }));
    stops.push(
      () => void spares.stop?.(),
      () => idle.stop(),
    );
    const id = await create();

    await world.pass(6_000);

    expect(node(id)?.state).toBe('testing');
  });

  it('stays while another launcher stops it, also where its record is known before its lock is', async () => {
    const { world, create, node, isLocked, keep } = await setUp();
    keep(undefined);
    const id = await create();
    const { other, clock } = world;
    const ready = await clock.run(other.getData(nodePath(id)));
    const stopping = { state: 'testing', launchState: { stopping: true } } as const;
    const data = encodeNode(withNode(node(id) as NodeRecord, stopping, clock.now()));
    const { ops } = lockOps(nodeLockPath(id), { directoryExists: false });

    const first = other.setData(nodePath(id), ready.data); // read by this launcher while the next one is written
    const second = other.multi([...ops, { op: 'set', path: nodePath(id), data, version: ready.stat.version + 1 }]);
    await clock.run(Promise.all([first, second]));
    await world.pass(1_000);

    expect([node(id)?.state, isLocked(id)]).toEqual(['testing', true]);
  });

  it('counts on standby, and for no request, while it is being stopped', async () => {
    const { world, create, isFree, isLocked } = await setUp(() => new Promise(() => undefined));
    const id = await create();

    await world.pass(6_000);

    expect([isLocked(id), isFree(id), world.context.mirror.idleCount('a')]).toEqual([true, false, 1]);
  });

  it('stays when another process takes it at that moment', async () => {
    const { world, create, node, seen } = await setUp();
    const id = await create();
    await world.pass(4_000);

    const taken = withNode(node(id) ?? expect.fail(), { allocatedTo: '200-0000000001' as never }, world.clock.now());
    await world.clock.run(world.other.setData(nodePath(id), encodeNode(taken)));
    await world.pass(5_000);

    expect([node(id)?.state, seen]).toEqual(['ready', []]);
  });

  it('is deleted when it cannot be stopped, and no other one is stopped for now, with the reason', async () => {
    const { world, create, node, rooms } = await setUp(() =>
      Promise.reject(new LaunchError('status', 'not supported')),
    );
    const first = await create();
    await world.pass(6_000);

    const second = await create({ externalId: 'i-2' });
    await world.pass(60_000);

    expect([node(first)?.state, node(second)?.state]).toEqual(['deleting', 'ready']);
    expect(rooms.spares.explain?.('a')).toMatch(
      /^0 of them stopped, .*; provider "p" stops none until [-\d]+ [:\d]+ UTC: one could not be stopped: not supported$/,
    );
  });

  it('is stopped once the cloud answers again, and is not lent before: a stop without an answer may take effect', async () => {
    let isDown = true;
    const { world, create, node, rooms, seen, isFree } = await setUp(() =>
      isDown ? Promise.reject(new ProviderUnavailableError('no answer')) : Promise.resolve(STARTS),
    );
    const id = await create();
    await world.pass(66_000);
    const during = [node(id)?.state, isFree(id), seen.length];

    isDown = false;
    await world.pass(31_000);
    const stopped = [node(id)?.launchState, isFree(id), seen.length];
    await world.pass(601_000);

    expect(during).toEqual(['testing', false, 3]);
    expect(stopped).toEqual([{ stopping: true }, false, 4]); // an earlier call could power off a machine that is lent
    expect([node(id)?.state, node(id)?.launchState, isFree(id)]).toEqual(['testing', STARTS, true]);
    expect(rooms.spares.explain?.('a')).toBe('1 of them stopped, to be started for a request');
  });

  it('is lent at once when the cloud has only asked for fewer calls', async () => {
    let calls = 0;
    const { world, create, isFree } = await setUp(() =>
      calls++ === 0 ? Promise.reject(new RateLimitedError('too many requests')) : Promise.resolve(STARTS),
    );
    const id = await create();

    await world.pass(37_000);

    expect([calls, isFree(id)]).toEqual([2, true]);
  });

  it('is deleted when its instance is gone, which is no reason to stop no others', async () => {
    const { world, create, node, rooms } = await setUp(() => Promise.reject(new NotFoundError('it is gone')));
    const id = await create();

    await world.pass(6_000);

    expect(node(id)?.state).toBe('deleting');
    expect(rooms.spares.explain?.('a')).toBe('0 of them stopped, to be started for a request');
  });

  it('is deleted by the next launcher when this one has died meanwhile: its call may take effect late', async () => {
    const { create, node, sweep } = await setUp();
    const id = await create({ state: 'testing', launchState: { stopping: true } });

    await sweep();

    expect(node(id)?.state).toBe('deleting');
  });

  it('is not locked any more once it is stopped, although a tool has written its record meanwhile', async () => {
    let finish = (_state: JsonObject): void => undefined;
    const { world, create, node, isLocked } = await setUp(() => new Promise((resolve) => (finish = resolve)));
    const id = await create();
    await world.pass(6_000);
    const during = isLocked(id);

    await world.clock.run(world.other.setData(nodePath(id), '{"pool": {}}'));
    finish(STARTS);
    await world.pass(1_000);

    expect([during, isLocked(id)]).toEqual([true, false]);
    expect(node(id)?.launchState).toEqual({ stopping: true });
  });

  it('is deleted in the next session when the session ended meanwhile', async () => {
    let finish = (_state: JsonObject): void => undefined;
    const { world, create, node, sweep } = await setUp(() => new Promise((resolve) => (finish = resolve)));
    const id = await create();
    await world.pass(6_000);

    world.loseSession();
    await world.pass(40_000);
    finish(STARTS);
    await world.pass(1_000);
    const interrupted = node(id)?.launchState;
    await sweep();

    expect([interrupted, node(id)?.state]).toEqual([{ stopping: true }, 'deleting']);
  });

  it('is not stopped again once the session that had locked it has ended: another launcher may have lent it', async () => {
    let calls = 0;
    const { world, create } = await setUp(() => {
      calls++;
      return Promise.reject(new ProviderUnavailableError('no answer'));
    });
    await create();
    await world.pass(6_000);
    const before = calls;

    world.loseSession();
    await world.pass(120_000);

    expect([before, calls]).toEqual([1, 1]);
  });
});

describe('a stopped node', () => {
  it('is deleted when its label does not keep stopped nodes any more', async () => {
    const { create, node, sweep, keep } = await setUp();
    const id = await create({ state: 'testing', launchState: STARTS });
    await sweep();
    const before = node(id)?.state;

    keep(undefined);
    await sweep();

    expect([before, node(id)?.state]).toEqual(['testing', 'deleting']);
  });

  it('is deleted with its label, and the log says so', async () => {
    const { world, create, node, sweep } = await setUp();
    const info = vi.spyOn(world.context.logger, 'info');
    const id = await create({ state: 'testing', launchState: STARTS });

    world.context.config.now = { ...standbyConfig, labels: new Map() };
    await sweep();

    expect(node(id)?.state).toBe('deleting');
    expect(JSON.stringify(info.mock.calls)).toContain('label \\"a\\" is not in the configuration');
    info.mockRestore();
  });

  it('is not changed when another program made it `testing`', async () => {
    const { create, node, sweep, keep } = await setUp();
    const id = await create({ state: 'testing', launchState: null });

    keep(undefined);
    await sweep();

    expect(node(id)?.state).toBe('testing');
  });
});

it('leaves free nodes of other labels running', async () => {
  const { world, create, node, keep } = await setUp();
  keep(undefined);
  const id = await create();

  await world.pass(60_000);

  expect(node(id)?.state).toBe('ready');
});

describe('stopped nodes', () => {
  it('are no more than standby wants, also if many become free at the same moment', async () => {
    const { world, create, states } = await setUp();
    for (let i = 0; i < 4; i++) await create({ externalId: `i-${i}` });

    await world.pass(120_000);

    expect(states()).toEqual({ testing: 1, ready: 3 });
  });

  // Ends: NotStopped PoolUnaware
  it('are none while a pool with the label does not know them, with a condition; those that are stopped already stay', async () => {
    const { world, create, states, rooms, keep, sweep } = await setUp();
    await create({ state: 'testing', launchState: STARTS });
    const original = await rooms.register({ launcherId: 'original' as LauncherId });
    await create({ externalId: 'i-2' });
    rooms.world.context.config.now = { ...configOf('stopped'), labels: labelsOf('stopped', 2) };

    await world.pass(60_000);
    const [during, why] = [states(), blocker(rooms)];
    await world.clock.run(world.other.delete(original));
    await world.pass(10_000);
    await sweep();
    await world.pass(10_000);
    const after = [states(), blocker(rooms)];
    keep(undefined);

    expect(during).toEqual({ testing: 1, ready: 1 });
    expect(why).toMatchObject({
      type: 'NotStopped',
      reason: 'PoolUnaware',
      message: 'pool p/main of launcher nl02 does not know stopped nodes',
    });
    expect(blocker(rooms)).toBeUndefined();
    expect(after).toEqual([{ testing: 2 }, undefined]);
  });

  // Ends: NotStopped FilesDiffer
  it.each([
    ['keep: stopped', 'running', ['a', 'b'], { testing: 2 }],
    ['no keep', 'stopped', [], { deleting: 1, ready: 1 }],
  ])('follow a launcher with %s that was registered before one that keeps them %s', async (_a, own, of, expected) => {
    const { create, states, rooms, sweep, world } = await setUp(undefined, [{ ...OURS, raw: { stopped_spares: of } }]);
    world.context.config.now = { ...configOf(undefined), labels: labelsOf(own === 'stopped' ? own : undefined, 2) };
    await create({ state: 'testing', launchState: STARTS });
    await create({ externalId: 'i-2' });

    await sweep();
    await world.pass(10_000);
    await sweep();

    expect(states()).toEqual(expected);
    expect(blocker(rooms)?.reason).toBe(own === 'stopped' ? 'FilesDiffer' : undefined);
    world.context.config.now = configOf(undefined); // the same for all launchers
    expect(blocker(rooms)).toBeUndefined();
  });
});
