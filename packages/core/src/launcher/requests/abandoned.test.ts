import {
  encodeNode,
  encodeRequest,
  newNode,
  newRequest,
  nodeLockPath,
  nodePath,
  requestLockPath,
  REQUESTS_ROOT,
  type NodeId,
  type RequestId,
} from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { ServiceWorld } from '../../../test/support/service-world.js';
import { Ledger } from '../ledger/ledger.js';
import { AbandonedRequests, removeAbandonedLocks } from './abandoned.js';
import { LostRequests } from './lost-requests.js';

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

/** A request that this process has lost track of while it was `pending`. */
async function abandonedRequest() {
  const world = await ServiceWorld.open();
  const { context, clock, other, zk } = world;
  const body = encodeRequest(newRequest({ state: 'pending', labels: ['a'] }, clock.now()));
  const path = await clock.run(other.create(`${REQUESTS_ROOT}/200-`, body, { sequential: true }));
  const id = path.slice(REQUESTS_ROOT.length + 1) as RequestId;
  const root = requestLockPath(id);
  const lock = async () => {
    await clock.run(zk.ensurePath(root));
    await clock.run(zk.create(`${root}/`, '', { ephemeral: true, sequential: true }));
  };
  await lock();
  await world.pass(100);
  const ledger = new Ledger(context, { runnerOf: () => undefined });
  const abandoned = new AbandonedRequests(context, ledger, new LostRequests(context, ledger));
  const recovered: RequestId[] = [];
  context.events.on('requestRecovered', ({ request }) => void recovered.push(request));
  const look = async () => ({
    entries: (await clock.run(other.getChildren(root))).length,
    state: context.mirror.requests.get(id)?.state,
    isRecovering: abandoned.isRecovering(id),
    recovered: recovered.length,
  });
  return { world, id, lock, ledger, abandoned, look, epoch: zk.sessionEpoch };
}

describe('an abandoned request', () => {
  it('is unlocked and put back into the queue, and that is told', async () => {
    const { world, id, abandoned, look, epoch } = await abandonedRequest();

    abandoned.recover(id, epoch);
    const isRecovering = abandoned.isRecovering(id);
    await world.pass(1_000);

    expect(isRecovering).toBe(true);
    expect(await look()).toEqual({ entries: 0, state: 'requested', isRecovering: false, recovered: 1 });
  });

  it('keeps the lock with which a new session has taken it up again', async () => {
    const { world, id, lock, abandoned, look, epoch } = await abandonedRequest();
    world.loseSession();
    await world.pass(40_000);
    await lock();

    abandoned.recover(id, epoch);
    await world.pass(10_000);

    expect(await look()).toMatchObject({ entries: 1, isRecovering: false, recovered: 1 });
  });

  it('is left alone as long as another pool of this process works on it', async () => {
    const { world, id, ledger, abandoned, look, epoch } = await abandonedRequest();
    const request = world.context.mirror.requests.get(id);
    if (request) ledger.begin(request, []);

    abandoned.recover(id, epoch);
    await world.pass(10_000);
    const meanwhile = await look();
    ledger.end(id);
    await world.pass(10_000);

    expect(meanwhile).toEqual({ entries: 1, state: 'pending', isRecovering: true, recovered: 0 });
    expect(await look()).toEqual({ entries: 0, state: 'requested', isRecovering: false, recovered: 1 });
  });
});
