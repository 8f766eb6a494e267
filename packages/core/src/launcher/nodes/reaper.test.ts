import {
  encodeNode,
  encodeRequest,
  newRequest,
  nodeLockPath,
  nodePath,
  requestLockPath,
  requestPath,
  type RequestId,
  withNode,
} from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import type { Provider } from '../../contract/driver.js';
import { ProviderUnavailableError } from '../../contract/errors.js';
import { launchingDrivers, LauncherRooms, standbyConfig } from '../../../test/support/launcher-rooms.js';
import { FIRST_POOL_PAUSE_MS } from '../plan/first-pool.js';
import { Reaper } from './reaper.js';

/** A used node with an instance, about to be deleted by a provider that is changed as asked. */
async function usedNode(changes: Partial<Provider> = {}, { isShared = false } = {}) {
  const { rooms, world } = await openRooms(changes);
  const id = await world.createNode({ state: 'used', externalId: 'i-1' });
  const other = isShared ? await rooms.share(id) : undefined;
  const session = world.zk.sessionId;
  return {
    world,
    id,
    reaper: new Reaper(world.context, rooms.providers, rooms.registry.registered),
    /** The other launcher, which is the first to take the node back, leaves. */
    othersLeave: async () => {
      if (other !== undefined) await world.clock.run(world.other.delete(other));
      await world.pass(50);
    },
    exists: () => world.clock.run(world.other.exists(nodePath(id))),
    entries: () => world.clock.run(world.other.getChildren(nodeLockPath(id))),
    sameSession: () => world.zk.sessionId === session,
  };
}

async function openRooms(changes: Partial<Provider> = {}) {
  const rooms = await LauncherRooms.open(standbyConfig, launchingDrivers(changes));
  return { rooms, world: rooms.world };
}

describe('a deletion whose connection breaks', () => {
  it('keeps no lock and continues when the transaction that removes the node is lost', async () => {
    const { world, id, reaper, exists, entries, sameSession } = await usedNode();
    world.loseRequest((write) => write === `delete ${nodePath(id)}`);

    reaper.reconsider('start');
    expect(reaper.busy).toEqual([id]);
    await world.pass(25);
    expect(await entries()).toHaveLength(1);
    await world.pass(60_000);

    expect(await exists()).toBeUndefined();
    expect([world.breaks, sameSession()]).toEqual([1, true]);
    expect(reaper.failing()).toEqual([]);
  });

  it('keeps no lock and continues when it is unknown whether the node was locked', async () => {
    const { world, id, reaper, exists, sameSession } = await usedNode();
    world.loseAnswer((write) => write.startsWith(`create ${nodeLockPath(id)}/`));

    reaper.reconsider('start');
    await world.pass(60_000);

    expect(await exists()).toBeUndefined();
    expect([world.breaks, sameSession()]).toEqual([1, true]);
  });

  it('has ended when only the answer is lost', async () => {
    const { world, id, reaper, exists, sameSession } = await usedNode();
    world.loseAnswer((write) => write === `delete ${nodePath(id)}`);

    reaper.reconsider('start');
    await world.pass(60_000);

    expect(await exists()).toBeUndefined();
    expect([world.breaks, sameSession()]).toEqual([1, true]);
    expect(reaper.failing()).toEqual([]);
  });
});

describe('a deletion in progress', () => {
  it('is forgotten when another launcher deletes the node during the attempt', async () => {
    let fail = (_error: Error) => {};
    const { world, id, reaper } = await usedNode({
      startNodeCleanup: () => new Promise<never>((_resolve, reject) => (fail = reject)),
    });
    reaper.reconsider('start');
    await world.pass(1_000);

    await world.clock.run(world.other.deleteRecursive(nodePath(id)));
    await world.pass(50);
    fail(new Error('no answer'));
    await world.pass(1_000);

    expect(reaper.failing()).toEqual([]);
  });
});

describe('a node that another launcher is the first to take back', () => {
  it('is left to it for a moment, and then taken back all the same', async () => {
    const { world, reaper, exists } = await usedNode({}, { isShared: true });

    reaper.reconsider('start');
    expect(reaper.busy).toEqual([]);
    await world.pass(FIRST_POOL_PAUSE_MS - 10);
    expect(await exists()).toBeDefined();
    await world.pass(1_000);

    expect(await exists()).toBeUndefined();
  });

  it('is taken back at once when the other has left', async () => {
    const { world, id, reaper, exists, othersLeave } = await usedNode({}, { isShared: true });
    reaper.reconsider('start');

    await othersLeave();

    reaper.reconsider('start');
    expect(reaper.busy).toEqual([id]);
    await world.pass(FIRST_POOL_PAUSE_MS / 2);
    expect(await exists()).toBeUndefined();
  });

  it('is forgotten when the other has taken it back', async () => {
    const { world, id, reaper } = await usedNode({}, { isShared: true });
    reaper.reconsider('start');
    const before = world.clock.pendingTimers;

    await world.clock.run(world.other.delete(nodePath(id)));
    await world.pass(50);

    expect(world.clock.pendingTimers).toBeLessThan(before);
  });
});

describe('a record that its launcher is about to lock', () => {
  async function newRecord(clockOfOthersMs: number) {
    const { rooms, world } = await openRooms();
    const reaper = new Reaper(world.context, rooms.providers, rooms.registry.registered);
    const stateTimeMs = world.clock.now() + clockOfOthersMs;
    const id = await world.createNode({ state: 'init', allocatedTo: '200-0000000001' as RequestId, stateTimeMs });
    return { world, reaper, exists: () => world.clock.run(world.other.exists(nodePath(id))) };
  }

  it.each([-3_600_000, 0, 3_600_000])(
    'is kept for a minute when the clock of its launcher is %i ms off',
    async (ms) => {
      const { world, reaper, exists } = await newRecord(ms);

      await world.pass(50_000);
      reaper.reconsider('minute');
      await world.pass(1_000);
      expect(await exists()).toBeDefined();

      await world.pass(30_000);
      reaper.reconsider('minute');
      await world.pass(1_000);
      expect(await exists()).toBeUndefined();
    },
  );
});

it('a ready node that the work on its request does not know is free after a minute', async () => {
  const { rooms, world } = await openRooms();
  const { clock, other, context } = world;
  const request = '200-0000000001' as RequestId;
  await clock.run(other.ensurePath(requestLockPath(request)));
  await clock.run(other.create(`${requestLockPath(request)}/0__lock__`, '', { ephemeral: true, sequential: true }));
  const body = encodeRequest({ ...newRequest({ labels: ['a', 'a'] }, 0), state: 'pending' });
  await clock.run(other.ensurePath(requestPath(request)));
  await clock.run(other.setData(requestPath(request), body));
  const id = await world.createNode({ allocatedTo: request });
  const reaper = new Reaper(context, rooms.providers, rooms.registry.registered);
  const ofNode: unknown[] = [];
  for (let minute = 0; minute < 3; minute++) {
    await world.pass(1_000);
    reaper.reconsider('minute');
    await world.pass(1_000);
    ofNode.push(context.mirror.nodes.get(id)?.allocatedTo);
    await world.pass(58_000);
  }

  expect(ofNode).toEqual([request, request, null]);
  await reaper.stop();
});

describe('an unlocked node that could be finished', () => {
  /** Its request is locked, and the node as well or not. */
  async function begunLaunch({ isLocked }: { isLocked: boolean }) {
    const { rooms, world } = await openRooms();
    const { clock, other } = world;
    const request = '200-0000000001' as RequestId;
    const entry = { ephemeral: true, sequential: true };
    const lock = async (root: string) => {
      await clock.run(other.ensurePath(root));
      return clock.run(other.create(`${root}/0123__lock__`, '', entry));
    };
    const requestEntry = await lock(requestLockPath(request));
    const body = encodeRequest(newRequest({ state: 'pending', labels: ['a'] }, clock.now()));
    await clock.run(other.create(requestPath(request), body));
    const id = await world.createNode({ state: 'building', launchState: {}, allocatedTo: request, externalId: 'i-1' });
    const nodeEntry = isLocked ? await lock(nodeLockPath(id)) : undefined;
    await world.pass(100);
    const reaper = new Reaper(world.context, rooms.providers, rooms.registry.registered);
    reaper.keepUnfinished(({ state }) => state === 'building');
    const exists = () => clock.run(other.exists(nodePath(id)));
    return { world, id, reaper, requestEntry, nodeEntry, exists };
  }

  it('is deleted when the process that has locked its request has left it out', async () => {
    const { world, reaper, id, exists } = await begunLaunch({ isLocked: false });

    reaper.reconsider('start');
    expect(reaper.busy).toEqual([id]);
    await world.pass(1_000);

    expect(await exists()).toBeUndefined();
  });

  it('is kept when the lock of the request ends after its own', async () => {
    const { world, reaper, exists, requestEntry, nodeEntry = '' } = await begunLaunch({ isLocked: true });
    const { clock, other, context } = world;
    const seen: boolean[] = [];
    context.events.on('nodeLockChanged', () => {
      seen.push(reaper.busy.length > 0);
      void other.delete(requestEntry);
    });

    await clock.run(other.delete(nodeEntry));
    await world.pass(1_000);

    expect(seen).toContain(true);
    expect(await exists()).toBeDefined();
  });
});

describe('a deletion that fails', () => {
  async function failing() {
    const refuse = () => Promise.reject(new ProviderUnavailableError('the cloud hangs'));
    const { world, id, reaper } = await usedNode({ startNodeCleanup: refuse });
    reaper.reconsider('start');
    await world.pass(100);
    return { world, id, reaper };
  }

  it('is reported with the class and the time of its error', async () => {
    const { id, reaper } = await failing();

    expect(reaper.failing()).toMatchObject([
      { nodeId: id, attempts: 1, error: 'the cloud hangs', reason: 'Unavailable' },
    ]);
    expect(reaper.failing()[0]?.failedMs).toBeGreaterThan(0);
  });

  it('is forgotten when another launcher has deleted the node', async () => {
    const { world, id, reaper } = await failing();

    await world.clock.run(world.other.deleteRecursive(nodePath(id)));
    await world.pass(60_000);

    expect(reaper.failing()).toEqual([]);
  });

  it('keeps the time at which it began, and is tried again at once when an operator orders it again', async () => {
    const { world, id, reaper } = await failing();
    const began = world.context.mirror.nodes.get(id)?.stateTimeMs;
    await world.pass(600_000);
    const node = world.context.mirror.nodes.get(id);
    const before = reaper.failing()[0]?.attempts ?? 0;
    await world.pass(1_000);
    expect([node?.stateTimeMs, reaper.failing()[0]?.attempts]).toEqual([began, before]);

    const ordered = node && withNode(node, { state: 'deleting' }, world.clock.now(), 'operator');
    if (ordered) await world.clock.run(world.other.setData(nodePath(id), encodeNode(ordered)));
    await world.pass(1_000);

    expect(reaper.failing()[0]?.attempts).toBe(before + 1);
  });
});
