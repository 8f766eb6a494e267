import {
  decodeNode,
  encodeRequest,
  newNode,
  newRequest,
  nodeLockPath,
  nodePath,
  NODES_ROOT,
  REQUESTS_ROOT,
  type NodeFields,
  type NodeId,
  type NodeRecord,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { launchingDrivers, LauncherRooms, standbyConfig } from '../../../test/support/launcher-rooms.js';
import type { Provider } from '../../contract/driver.js';
import { deallocateNode, deleteNode } from './take-back.js';

/** A launcher's side of nodes of one provider. */
async function setUp(changes: Partial<Provider> = {}) {
  const { world, providers } = await LauncherRooms.open(standbyConfig, launchingDrivers(changes));
  const { signal } = new AbortController();
  const mirrored = (id: NodeId): NodeRecord => {
    const found = world.context.mirror.nodes.get(id);
    if (!found) throw new Error('the mirror does not show the node');
    return found;
  };
  return {
    world,
    mirrored,
    create: async (fields: NodeFields) => mirrored(await world.createNode(fields)),
    deallocate: (node: NodeRecord) => world.clock.run(deallocateNode(world.context, node)),
    remove: (node: NodeRecord) => world.clock.run(deleteNode(world.context, node, providers.providerOf(node), signal)),
    nodes: () => world.clock.run(world.other.getChildren(NODES_ROOT)),
    entries: (id: NodeId) => world.clock.run(world.other.getChildren(nodeLockPath(id))),
    read: async (id: NodeId) => {
      const { data, stat } = await world.clock.run(world.other.getData(nodePath(id)));
      return decodeNode(id, data, stat, world.clock.now());
    },
    storeRequest: async (state: RequestRecord['state']) => {
      const body = encodeRequest(newRequest({ labels: ['a'], state }, world.clock.now()));
      const path = await world.clock.run(world.other.create(`${REQUESTS_ROOT}/200-`, body, { sequential: true }));
      return path.slice(REQUESTS_ROOT.length + 1) as RequestId;
    },
    /** Another process enters the queue for the lock of the node. */
    queueForLock: (id: NodeId) => world.clock.run(world.queueForLock(id)),
  };
}

describe('a ready node that was kept for a request', () => {
  it('is free, and counts for no tenant, when the request is gone', async () => {
    const { create, deallocate, read } = await setUp();
    const gone = '200-0000000007' as RequestId;
    const node = await create({ allocatedTo: gone, tenantName: 'one', requestor: 'zuul' });

    await deallocate(node);

    expect(await read(node.id)).toMatchObject({ state: 'ready', allocatedTo: null, tenantName: null, requestor: null });
  });

  it.each([
    ['requested', false],
    ['failed', false],
    ['pending', true],
    ['fulfilled', true],
  ] as const)('whose request ZooKeeper has as %s stays with it: %s', async (state, stays) => {
    const { create, deallocate, read, storeRequest } = await setUp();
    const request = await storeRequest(state); // the mirror may be behind, so what ZooKeeper has decides
    const node = await create({ allocatedTo: request });

    await deallocate(node);

    expect((await read(node.id))?.allocatedTo).toBe(stays ? request : null);
  });
});

it('a ready node stays with its request when another process locks it meanwhile', async () => {
  const { world, create, read } = await setUp();
  const gone = '200-0000000007' as RequestId;
  const node = await create({ allocatedTo: gone });

  const done = world.clock.run(deallocateNode(world.lockedMeanwhile(node.id), node));

  await expect(done).rejects.toMatchObject({ owner: 'lock' });
  expect((await read(node.id))?.allocatedTo).toBe(gone);
});

describe('a node behind which there is nothing', () => {
  it('goes with its lock directory, without a call of the provider', async () => {
    const cleaned: string[] = [];
    const told: string[] = [];
    const { world, create, remove, nodes, queueForLock } = await setUp({
      startNodeCleanup: ({ id }) => void cleaned.push(id),
      nodeDeletedNotification: ({ id }) => void told.push(id),
    });
    const node = await create({ state: 'failed' });
    const entry = await queueForLock(node.id);
    await world.clock.run(world.other.delete(entry));
    await world.pass(100);

    await expect(remove(node)).resolves.toBe('deleted');

    expect([await nodes(), cleaned, told]).toEqual([[], [], [node.id]]);
  });

  it('is followed in the same transaction by the one that the provider has in its place', async () => {
    const successor = newNode({ state: 'ready', labels: ['a'], provider: 'rack', pool: 'main', slot: 3 }, 0);
    const { create, remove, nodes, read } = await setUp({ successorOf: () => successor });
    const node = await create({ state: 'used' });

    await remove(node);

    const [id, ...more] = await nodes();
    expect(more).toEqual([]);
    expect(id).not.toBe(node.id);
    expect(await read(id as NodeId)).toMatchObject({ state: 'ready', slot: 3 });
  });

  it('stays when another process has locked it meanwhile', async () => {
    const { create, remove, nodes, queueForLock } = await setUp();
    const node = await create({ state: 'failed' });
    await queueForLock(node.id);

    await expect(remove(node)).rejects.toMatchObject({ kind: 'locked' });

    expect(await nodes()).toEqual([node.id]);
  });
});

describe('a node with an instance', () => {
  it('is locked and deleting while its instance goes, and then gone', async () => {
    const seen: unknown[] = [];
    const { create, remove, nodes, entries, read } = await setUp({
      startNodeCleanup: async ({ id, state, externalId }) => {
        seen.push({ state, externalId, entries: (await entries(id)).length, stored: (await read(id))?.state });
      },
    });
    const node = await create({ state: 'used', externalId: 'i-1' });

    await expect(remove(node)).resolves.toBe('deleted');

    expect(seen).toEqual([{ state: 'deleting', externalId: 'i-1', entries: 1, stored: 'deleting' }]);
    expect(await nodes()).toEqual([]);
  });

  it('stays, unlocked, when its instance cannot be deleted', async () => {
    const { create, remove, entries, read } = await setUp({
      startNodeCleanup: () => Promise.reject(new Error('the cloud says no')),
    });
    const node = await create({ state: 'used', externalId: 'i-1' });

    await expect(remove(node)).rejects.toThrow('the cloud says no');

    expect(await entries(node.id)).toEqual([]);
    expect(await read(node.id)).toMatchObject({ state: 'deleting', externalId: 'i-1' });
  });

  it('stays when the session ended while its instance went: the lock has no holder', async () => {
    const { world, create, remove, read } = await setUp({
      startNodeCleanup: async () => {
        world.loseSession();
        await world.pass(40_000);
      },
    });
    const node = await create({ state: 'used', externalId: 'i-1' });

    await expect(remove(node)).resolves.toBe('session-lost');

    expect(await read(node.id)).toMatchObject({ state: 'deleting' });
  });

  it('is marked before it goes when another process waits for its lock', async () => {
    const { world, create, remove, nodes, queueForLock } = await setUp({
      startNodeCleanup: async ({ id }) => void (await queueForLock(id)),
    });
    const states: string[] = [];
    world.context.events.on('nodeChanged', ({ after }) => states.push(after?.state ?? 'gone'));
    const node = await create({ state: 'used', externalId: 'i-1' });

    await remove(node);

    expect(await nodes()).toEqual([]);
    expect(states).toContain('deleted');
  });

  it('goes without a moment at which another process that waits has its lock', async () => {
    const { world, create, remove, queueForLock } = await setUp({
      startNodeCleanup: async ({ id }) => void (await queueForLock(id)),
    });
    const node = await create({ state: 'used', externalId: 'i-1' });

    await remove(node);

    const removals = world.written.filter((changes) => changes.some((change) => change.startsWith('delete')));
    expect(removals).toHaveLength(1);
  });

  it('is not asked about again when its record says that the instance is gone', async () => {
    const cleaned: string[] = [];
    const { create, remove, nodes } = await setUp({ startNodeCleanup: ({ id }) => void cleaned.push(id) });
    const node = await create({ state: 'deleted', externalId: 'i-1' });

    await remove(node);

    expect([await nodes(), cleaned]).toEqual([[], []]);
  });
});
