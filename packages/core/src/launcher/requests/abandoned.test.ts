import {
  encodeNode,
  newNode,
  nodeLockPath,
  nodePath,
  requestLockPath,
  type NodeId,
  type RequestId,
} from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { ServiceWorld } from '../../../test/support/service-world.js';
import { removeAbandonedLocks } from './abandoned.js';

const REQUEST = '200-0000000001' as RequestId;

/** A request and a node of it, each locked by the session under test and by another one. */
async function locked() {
  const world = await ServiceWorld.open();
  const id = await world.createNode({ allocatedTo: REQUEST });
  const roots = [requestLockPath(REQUEST), nodeLockPath(id)];
  const lock = async (zk: ServiceWorld['zk' | 'other']) => {
    await world.clock.run(Promise.all(roots.map((root) => zk.ensurePath(root))));
    const entries = roots.map((root) => zk.create(`${root}/`, '', { ephemeral: true, sequential: true }));
    await world.clock.run(Promise.all(entries));
  };
  return {
    world,
    lock,
    remove: (epoch: number) =>
      removeAbandonedLocks(world.context, { request: REQUEST }, epoch, new AbortController().signal),
    /** How many entries each lock has. */
    entries: async () => {
      const lists = await world.clock.run(Promise.all(roots.map((root) => world.other.getChildren(root))));
      return lists.map((names) => names.length);
    },
  };
}

describe('removing locks that were left behind', () => {
  it('takes those of the own session only', async () => {
    const { world, lock, remove, entries } = await locked();
    await lock(world.zk);
    await lock(world.other);

    await world.clock.run(remove(world.zk.sessionEpoch));

    expect(await entries()).toEqual([1, 1]);
  });

  it('takes those of nodes that were given to the request just before', async () => {
    const { world, lock, remove, entries } = await locked();
    const [id] = [...world.context.mirror.allocatedTo(REQUEST)];
    const store = (allocatedTo: RequestId | null) =>
      world.other.setData(
        nodePath(id as NodeId),
        encodeNode(newNode({ state: 'ready', labels: ['a'], allocatedTo }, 0)),
      );
    await world.clock.run(store(null));
    await world.pass(100);
    await lock(world.zk);

    await world.clock.run(Promise.all([store(REQUEST), remove(world.zk.sessionEpoch)]));

    expect(await entries()).toEqual([0, 0]);
  });

  it('takes none of a new session', async () => {
    const { world, lock, remove, entries } = await locked();
    const epoch = world.zk.sessionEpoch;
    world.loseSession();
    await world.pass(50);
    await world.clock.run(world.zk.whenConnected());
    await lock(world.zk);

    await world.clock.run(remove(epoch));

    expect(world.zk.sessionEpoch).toBe(epoch + 1);
    expect(await entries()).toEqual([1, 1]);
  });

  it('takes none of a new session when it began before the old one was lost', async () => {
    const { world, lock, remove, entries } = await locked();
    const epoch = world.zk.sessionEpoch;
    world.loseSession();
    await world.pass(50);
    const removal = remove(epoch);
    await world.clock.run(world.zk.whenConnected());
    await lock(world.zk);

    await world.clock.run(removal);

    expect(world.zk.sessionEpoch).toBe(epoch + 1);
    expect(await entries()).toEqual([1, 1]);
  });
});
