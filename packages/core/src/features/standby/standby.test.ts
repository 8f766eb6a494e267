import {
  decodeNode,
  encodeNode,
  encodeRequest,
  newNode,
  newRequest,
  newLockEntryPrefix,
  NODE_CREATE_PATH,
  nodePath,
  requestLockPath,
  REQUESTS_ROOT,
  requestPath,
  withRequest,
  type NodeId,
  type PoolComponentRecord,
  type RequestFields,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import { describe, expect, it, vi } from 'vitest';
import { LauncherRooms, OURS } from '../../../test/support/launcher-rooms.js';
import type { ServiceWorld } from '../../../test/support/service-world.js';
import { ExpectedNodes } from './expected-nodes.js';
import { Standby } from './standby.js';

interface SetUp {
  readonly isFirst?: boolean;
  /** The entry of the launcher that registered before. */
  readonly first?: Partial<PoolComponentRecord>;
}

async function setUp({ isFirst = true, first = OURS }: SetUp = {}) {
  const rooms = await LauncherRooms.open();
  const { world } = rooms;
  if (!isFirst) await rooms.register(first);
  await rooms.registerOwn();
  const standby = new Standby(world.context, rooms.views, rooms.levels, [rooms.spares]);
  const session = world.zk.sessionId;
  const { requests } = world.context.mirror;
  return {
    world,
    standby,
    only: (): RequestRecord => {
      const [request, ...more] = requests.values();
      if (!request || more.length > 0) throw new Error(`there are ${requests.size} requests`);
      return request;
    },
    /** Writes the request as the pool that serves it. */
    answer: async (request: RequestRecord, changes: RequestFields) => {
      const body = encodeRequest(withRequest(request, changes, world.clock.now()));
      await world.clock.run(world.other.setData(requestPath(request.id), body));
      await world.pass(100);
    },
    isGone: async (request: RequestRecord) =>
      (await world.clock.run(world.other.exists(requestPath(request.id)))) === undefined,
    ownerOf: async (id: NodeId) => {
      const { data, stat } = await world.clock.run(world.other.getData(nodePath(id)));
      return decodeNode(id, data, stat, world.clock.now())?.allocatedTo;
    },
    sameSession: () => world.zk.sessionId === session,
  };
}

it('explains with the request that a missing standby node waits for', async () => {
  const { world, standby, only } = await setUp();
  standby.reconsider();
  await world.pass(100);

  expect(standby.explain('a')).toMatchObject({
    ready: 0,
    reason: expect.stringContaining(`one is requested: nodepool explain ${only().id} says what it waits for`) as string,
  });
});

it('forgets a request that ended with its session before it was read', async () => {
  const { world, standby, only } = await setUp();
  standby.reconsider();
  await world.pass(100);
  const expected = new ExpectedNodes(world.context);
  for (const id of [only().id, '900-0000000077' as RequestId]) expected.requested('a', id);
  const before = expected.count('a');

  await world.clock.run(expected.forgetUnread());

  expect([before, expected.count('a')]).toEqual([2, 1]);
});

describe('a standby node of another launcher', () => {
  /** A standby request of another launcher, the only one there is. */
  async function othersRequest({ world, standby, only }: Awaited<ReturnType<typeof setUp>>): Promise<RequestId> {
    standby.reconsider();
    await world.pass(100);
    await world.clock.run(world.other.delete(requestPath(only().id)));
    const fields = { labels: ['a'], requestor: 'NodePool:min-ready' };
    const body = encodeRequest(newRequest(fields, world.clock.now()));
    const path = await world.clock.run(world.other.create(`${REQUESTS_ROOT}/900-`, body, { sequential: true }));
    const id = path.slice(REQUESTS_ROOT.length + 1) as RequestId;
    await world.pass(100);
    for (const request of world.context.mirror.requests.values()) {
      if (request.id !== id) await world.clock.run(world.other.delete(requestPath(request.id)));
    }
    await world.pass(100);
    return id;
  }

  const freeNode = (world: ServiceWorld) =>
    encodeNode(newNode({ state: 'ready', labels: ['a'], provider: 'p', pool: 'main' }, world.clock.now()));

  it('is not missing while the mirror still reads that it was given free, and its request is gone', async () => {
    const parts = await setUp();
    const { world, only, answer } = parts;
    const id = await othersRequest(parts);
    const node = await world.createNode({ allocatedTo: id, externalId: 'x' });
    await answer(only(), { state: 'fulfilled', nodeIds: [node] });

    await world.clock.run(
      Promise.all([world.other.setData(nodePath(node), freeNode(world)), world.other.delete(requestPath(id))]),
    );
    await world.pass(1_000);

    expect(world.context.mirror.idleCount('a')).toBe(1);
    expect(world.context.mirror.requests.size).toBe(0);
  });

  it.each([
    ['has never been read as fulfilled, for its lock is held', true],
    ['and its node are told of together', false],
  ])('is not missing when its request %s', async (_how, isKnown) => {
    const parts = await setUp();
    const { world } = parts;
    const id = await othersRequest(parts);
    const lock = requestLockPath(id);
    await world.clock.run(world.other.ensurePath(lock));
    const entry = await world.clock.run(
      world.other.create(`${lock}/${newLockEntryPrefix()}`, '', { sequential: true }),
    );
    await world.pass(100);
    const free = freeNode(world);
    const known = isKnown && nodePath(await world.createNode({ allocatedTo: id, externalId: 'x' }));

    await world.clock.run(
      world.other.multi([
        { op: 'set', path: requestPath(id), data: encodeRequest(newRequest({ labels: ['a'] }, world.clock.now())) },
        known
          ? { op: 'set', path: known, data: free }
          : { op: 'create', path: NODE_CREATE_PATH, data: free, sequential: true },
        { op: 'delete', path: requestPath(id) },
        { op: 'delete', path: entry },
      ]),
    );
    await world.pass(1_000);

    expect(world.context.mirror.idleCount('a')).toBe(1);
    expect(world.context.mirror.requests.size).toBe(0);
  });

  it('is missing when its request went without one', async () => {
    const parts = await setUp();
    const { world } = parts;
    const id = await othersRequest(parts);
    const node = await world.createNode({ state: 'building', allocatedTo: id });
    await world.clock.run(world.other.delete(requestPath(id)));
    await world.pass(1_000);
    expect(world.context.mirror.requests.size).toBe(0);

    await world.clock.run(world.other.delete(nodePath(node)));
    await world.pass(1_000);

    expect(world.context.mirror.requests.size).toBe(1);
    parts.standby.stop();
  });
});

describe('a launcher that is not the first of a label', () => {
  it('leaves the first one five seconds to ask, each time that a node is missing', async () => {
    const { world, standby } = await setUp({ isFirst: false });
    const { mirror } = world.context;
    const { requests } = mirror;
    for (let i = 0; i < 2; i++) {
      standby.reconsider();
      await world.pass(4_900);
      expect([i, requests.size]).toEqual([i, 0]);
      await world.pass(200);
      expect([i, requests.size]).toEqual([i, 1]);

      const [request] = requests.values();
      if (!request) throw new Error('there is no request');
      const node = await world.createNode({});
      await world.clock.run(world.other.delete(requestPath(request.id)));
      await world.pass(500);
      expect(mirror.idleCount('a')).toBe(1);
      await world.clock.run(world.other.delete(nodePath(node)));
      await world.pass(50);
    }
    standby.stop();
  });

  it('leaves it the same time when both wake at once, after requests that failed', async () => {
    const { world, standby, only, answer } = await setUp({ isFirst: false });
    const { requests } = world.context.mirror;
    const node = await world.createNode({ state: 'in-use' });
    standby.reconsider();
    for (let failures = 0; failures < 5; failures++) {
      for (let s = 0; s < 60 && requests.size === 0; s++) await world.pass(1_000);
      await answer(only(), { state: 'failed' });
      await world.pass(500);
    }

    await world.clock.run(world.other.delete(nodePath(node))); // there may be capacity: all look again a second later
    await world.pass(5_000);
    const early = requests.size;
    await world.pass(2_000);

    expect([early, requests.size]).toEqual([0, 1]);
    standby.stop();
  });
});

describe('a standby request', () => {
  it('is repeated after pauses that grow, and logged once, although nodes of launches that were refused go', async () => {
    const { world, standby, only, answer } = await setUp();
    const { requests } = world.context.mirror;
    const pauses: number[] = [];
    const log = vi.spyOn(world.context.logger, 'info');
    standby.reconsider();
    await world.pass(100);
    for (let failures = 0; failures < 5; failures++) {
      const launchError = 'Quota exceeded for cores';
      const node = await world.createNode({ state: 'aborted', allocatedTo: only().id, launchError });
      await answer(only(), { state: 'failed' });
      await world.clock.run(world.other.delete(nodePath(node)));
      let seconds = 0;
      while (requests.size === 0 && seconds++ < 60) await world.pass(1_000);
      pauses.push(seconds);
    }
    standby.stop();

    expect(pauses.at(-1)).toBeGreaterThan(10);
    expect(log.mock.calls.map(([text]) => text)).toEqual(['Asked for a standby node']);
  });

  it('is made after a pause when its creation ended with an error that is not one of ZooKeeper', async () => {
    const { world, standby, only } = await setUp();
    const create = world.zk.create.bind(world.zk);
    const fails = () => {
      Object.assign(world.zk, { create });
      return Promise.reject(new TypeError('a defect'));
    };
    Object.assign(world.zk, { create: fails });

    standby.reconsider();
    await world.pass(100);
    standby.reconsider();
    await world.pass(100);
    const soon = world.context.mirror.requests.size;
    await world.pass(5_000);

    expect(soon).toBe(0);
    expect(only().state).toBe('requested');
  });

  it('hands its node over although the answer to its creation was lost', async () => {
    const { world, standby, only, answer, isGone, ownerOf, sameSession } = await setUp();
    world.loseAnswer((write) => write.startsWith(`create ${REQUESTS_ROOT}/`));
    standby.reconsider();
    await world.pass(1_000);
    const request = only();
    const id = await world.createNode({ allocatedTo: request.id });

    await answer(request, { state: 'fulfilled', nodeIds: [id] });

    expect(await ownerOf(id)).toBeNull();
    expect(await isGone(request)).toBe(true);
    expect([world.breaks, sameSession()]).toEqual([1, true]);
    standby.stop();
  });

  it.each(['failed', 'fulfilled'] as const)(
    'is removed in the end when it has %s and its deletion is lost',
    async (state) => {
      const { world, standby, only, answer, isGone, sameSession } = await setUp();
      standby.reconsider();
      await world.pass(1_000);
      const request = only();
      world.loseRequest((write) => write === `delete ${requestPath(request.id)}`);

      await answer(request, { state });
      await world.pass(10_000);

      expect(await isGone(request)).toBe(true);
      expect([world.breaks, sameSession()]).toEqual([1, true]);
      standby.stop();
    },
  );
});

it('is requested five seconds later beside the original, which requests all that it misses without counting', async () => {
  const { world, standby } = await setUp({ isFirst: false, first: {} });

  standby.reconsider();
  await world.pass(4_000);
  const early = world.context.mirror.requests.size;
  await world.pass(2_000);

  expect([early, world.context.mirror.requests.size]).toEqual([0, 1]);
});
