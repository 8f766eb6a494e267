import {
  encodeNode,
  newLockEntryPrefix,
  nodeLockPath,
  nodePath,
  withNode,
  type Clock,
  type NodeFields,
  type NodeId,
} from '@nodepool/zk-protocol';
import { afterEach, describe, expect, it } from 'vitest';
import { LauncherRooms, standbyConfig } from '../../../test/support/launcher-rooms.js';
import type { Config } from '../../contract/config.js';
import { IdleNodes } from '../../launcher/nodes/idle-nodes.js';
import { ageLimits } from './index.js';

const MINUTE_MS = 60_000;

let stop: (() => void) | undefined;
afterEach(() => stop?.());

/** What deletes nodes that are too old, on a launcher with these changes. @param serverClock - what it takes for that of the server */
function limit(
  rooms: LauncherRooms,
  serverClock: Pick<Clock, 'now'>,
  { context = rooms.world.context } = {},
): IdleNodes {
  const idle = new IdleNodes(context);
  const ages = ageLimits(rooms.engine({ context, idle, serverClock }));
  stop = () => {
    void ages.stop?.();
    idle.stop();
  };
  return idle;
}

function configOf(maxReadyAgeMs: number): Config {
  const labels = new Map([['a', { name: 'a', minReady: 0, maxReadyAgeMs }]]);
  return { ...standbyConfig, labels, maxHoldAgeMs: 20 * MINUTE_MS };
}

/** Label `a` may be ready for ten minutes, and nodes may be held for twenty. */
async function setUp(aheadMs = 0) {
  const rooms = await LauncherRooms.open(configOf(10 * MINUTE_MS));
  rooms.idle.stop(); // what other features say
  const { world } = rooms;
  const limits = limit(rooms, { now: () => world.clock.now() - aheadMs });
  const node = (id: NodeId) => {
    const found = world.context.mirror.nodes.get(id);
    if (!found) throw new Error('the mirror does not show the node');
    return found;
  };
  return {
    world,
    limits,
    create: (fields: NodeFields = {}) => world.createNode(fields),
    stateOf: (id: NodeId) => node(id).state,
    /** Another launcher writes the record. */
    write: async (id: NodeId, fields: NodeFields) => {
      const next = withNode(node(id), fields, world.clock.now());
      await world.clock.run(world.other.setData(nodePath(id), encodeNode(next)));
      await world.pass(100);
    },
    lock: async (id: NodeId) => {
      await world.clock.run(world.other.ensurePath(nodeLockPath(id)));
      const entry = `${nodeLockPath(id)}/${newLockEntryPrefix()}`;
      const path = await world.clock.run(world.other.create(entry, '', { ephemeral: true, sequential: true }));
      await world.pass(100);
      return path;
    },
  };
}

const OF_LEASE = { userData: { lease: 'l1' } };

it.each([
  ['of a lease', OF_LEASE],
  ['of a request', {}],
])('counts the time of a node %s by the clock of the server', async (_whose, owner) => {
  const { world, create, stateOf } = await setUp(30 * MINUTE_MS);
  const stateTimeMs = world.clock.now() - 30 * MINUTE_MS; // the server is behind
  const held = { state: 'hold', ...owner, holdExpirationMs: 10 * MINUTE_MS, stateTimeMs } as const;
  const id = await create(held);

  await world.pass(9 * MINUTE_MS);
  expect(stateOf(id)).toBe('hold');
  await world.pass(2 * MINUTE_MS);

  expect(stateOf(id)).toBe('deleting');
});

it.each([-60 * MINUTE_MS, 60 * MINUTE_MS])(
  'holds a node for its time when the clock of its holder is %i ms ahead',
  async (aheadMs) => {
    const { world, create, write, stateOf } = await setUp();
    const id = await create({ state: 'in-use' });
    await write(id, { state: 'hold', holdExpirationMs: 10 * MINUTE_MS, stateTimeMs: world.clock.now() + aheadMs });

    await world.pass(9 * MINUTE_MS);
    expect(stateOf(id)).toBe('hold');
    await world.pass(2 * MINUTE_MS);

    expect(stateOf(id)).toBe('deleting');
  },
);

it('leaves a node to the end of its lease, which returns it, for five seconds', async () => {
  const { world, create, stateOf } = await setUp();
  const held = { state: 'hold', holdExpirationMs: MINUTE_MS, stateTimeMs: world.clock.now() } as const;
  const ids = [await create(held), await create({ ...held, ...OF_LEASE })];

  await world.pass(MINUTE_MS + 3_000);
  const before = ids.map(stateOf);
  await world.pass(3_000);

  expect([before, ids.map(stateOf)]).toEqual([
    ['deleting', 'hold'],
    ['deleting', 'deleting'],
  ]);
});

const HELD = { state: 'hold', holdExpirationMs: 10 * MINUTE_MS } as const;
const STEPS_MS = [60 * MINUTE_MS, -60 * MINUTE_MS, 2 * MINUTE_MS, -2 * MINUTE_MS];
const AGED: [string, NodeFields][] = [
  ['of a lease', { ...HELD, ...OF_LEASE }],
  ['on hold', HELD],
  ['that is ready', {}],
];

it.each(AGED.flatMap(([what, fields]) => STEPS_MS.map((stepMs) => [what, stepMs, fields] as const)))(
  'keeps a node %s for its time when the clock is set by %i ms',
  async (_what, stepMs, fields) => {
    const rooms = await LauncherRooms.open(configOf(10 * MINUTE_MS));
    const { world } = rooms;
    const { clock, mirror } = world.context;
    const own = { ...clock, now: () => clock.now() + step, steadyNow: () => clock.now() };
    let step = 0;
    const context = { ...world.context, clock: { ...own, setTimer: clock.setTimer.bind(clock) } };
    const limits = limit(rooms, clock, { context });
    const id = await world.createNode(fields);

    step = stepMs;
    limits.reconsider();
    await world.pass(9 * MINUTE_MS);
    const before = mirror.nodes.get(id)?.state;
    await world.pass(2 * MINUTE_MS);

    expect([before, mirror.nodes.get(id)?.state]).toEqual([fields.state ?? 'ready', 'deleting']);
  },
);

const STOPPED = { state: 'testing', launchState: { attempt: 1, start: true, state: { name: 'starting' } } } as const;

describe('a node that is ready', () => {
  it('has its time although the clock of its launcher is behind that of the server', async () => {
    const { world, create, stateOf } = await setUp(-30 * MINUTE_MS);
    const id = await create();

    await world.pass(9 * MINUTE_MS);
    const before = stateOf(id);
    await world.pass(2 * MINUTE_MS);

    expect([before, stateOf(id)]).toEqual(['ready', 'deleting']);
  });

  it('has it where it is stopped, and the clock of its launcher is behind that of the server', async () => {
    const { world, create, stateOf } = await setUp(-30 * MINUTE_MS);
    const id = await create(STOPPED);

    await world.pass(9 * MINUTE_MS);
    const before = stateOf(id);
    await world.pass(2 * MINUTE_MS);

    expect([before, stateOf(id)]).toEqual(['testing', 'deleting']);
  });

  it.each([-30, 30])(
    'has it where it was so before this launcher, written by a clock %i minutes ahead',
    async (minutes) => {
      const rooms = await LauncherRooms.open(configOf(10 * MINUTE_MS));
      const { world } = rooms;
      const { clock, mirror } = world.context;
      const id = await world.createNode({ stateTimeMs: clock.now() + minutes * MINUTE_MS });
      const limits = limit(rooms, clock);
      limits.reconsider();

      await world.pass(9 * MINUTE_MS);
      const before = mirror.nodes.get(id)?.state;
      await world.pass(2 * MINUTE_MS);

      expect([before, mirror.nodes.get(id)?.state]).toEqual(['ready', 'deleting']);
    },
  );

  it('is deleted when it has been for its time, each by its own', async () => {
    const { world, create, stateOf } = await setUp();
    const first = await create();
    await world.pass(4 * MINUTE_MS);
    const second = await create();

    await world.pass(6 * MINUTE_MS - 1_000);
    const before = [stateOf(first), stateOf(second)];
    await world.pass(1_000);
    const between = [stateOf(first), stateOf(second)];
    await world.pass(4 * MINUTE_MS);

    expect(before).toEqual(['ready', 'ready']);
    expect(between).toEqual(['deleting', 'ready']);
    expect(stateOf(second)).toBe('deleting');
  });

  it('has its full time again when it is ready after a use', async () => {
    const { world, create, write, stateOf } = await setUp();
    const id = await create();
    await world.pass(9 * MINUTE_MS);

    await write(id, { state: 'in-use' });
    await world.pass(5 * MINUTE_MS);
    const inUse = stateOf(id);
    await write(id, { state: 'ready' });
    await world.pass(9 * MINUTE_MS);
    const again = stateOf(id);
    await world.pass(MINUTE_MS);

    expect([inUse, again, stateOf(id)]).toEqual(['in-use', 'ready', 'deleting']);
  });

  it('stays while it is locked, and goes soon after', async () => {
    const { world, create, lock, stateOf } = await setUp();
    const id = await create();
    const entry = await lock(id);

    await world.pass(11 * MINUTE_MS);
    const locked = stateOf(id);
    await world.clock.run(world.other.delete(entry));
    await world.pass(10_500);

    expect([locked, stateOf(id)]).toEqual(['ready', 'deleting']);
  });

  it('stays where another launcher has its provider', async () => {
    const { world, create, stateOf } = await setUp();
    const id = await create({ provider: 'elsewhere' });

    await world.pass(30 * MINUTE_MS);

    expect(stateOf(id)).toBe('ready');
  });

  it('is looked at again when the launcher could not act as it was due', async () => {
    const { world, limits, create, stateOf } = await setUp();
    const id = await create();
    await world.pass(10 * MINUTE_MS - 5_000);

    world.context.mirror.nodes.onReady((ready) => ready && limits.reconsider()); // as the launcher does
    world.loseSession();
    await world.pass(25_000);
    const meanwhile = stateOf(id);
    await world.pass(30_000);

    expect([meanwhile, stateOf(id)]).toEqual(['ready', 'deleting']);
  });

  it('goes by the limit of a new configuration', async () => {
    const { world, limits, create, stateOf } = await setUp();
    const id = await create();
    await world.pass(2 * MINUTE_MS);

    world.context.config.now = configOf(3 * MINUTE_MS);
    limits.reconsider();
    const before = stateOf(id);
    await world.pass(MINUTE_MS);

    expect([before, stateOf(id)]).toEqual(['ready', 'deleting']);
  });
});

describe('a node that is held', () => {
  it('stays if it is renewed while others that were due with it are deleted', async () => {
    const { world, create, write, stateOf } = await setUp();
    const held = { state: 'hold', holdExpirationMs: 5 * MINUTE_MS, stateTimeMs: world.clock.now() } as const;
    const ids: NodeId[] = [];
    for (let i = 0; i < 20; i++) ids.push(await create(held));
    const last = ids.at(-1) as NodeId;
    await world.clock.advance(held.stateTimeMs + held.holdExpirationMs - world.clock.now());

    await write(last, { holdExpirationMs: 10 * MINUTE_MS });
    await world.pass(1_000);
    const renewed = ids.map(stateOf);
    await world.pass(5 * MINUTE_MS);

    expect(renewed).toEqual([...Array<string>(19).fill('deleting'), 'hold']);
    expect(stateOf(last)).toBe('deleting');
  });

  it.each([
    ['max-hold-age', null, 20],
    ['its own hold_expiration, which is shorter', 5 * MINUTE_MS, 5],
    ['max-hold-age, which is shorter than its own time', 50 * MINUTE_MS, 20],
  ])('goes by %s', async (_what, holdExpirationMs, minutes) => {
    const { world, create, stateOf } = await setUp();
    const id = await create({ state: 'hold', holdExpirationMs });

    await world.pass(minutes * MINUTE_MS - 1_000);
    const before = stateOf(id);
    await world.pass(1_000);

    expect([before, stateOf(id)]).toEqual(['hold', 'deleting']);
  });
});
