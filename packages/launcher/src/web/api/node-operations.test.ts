import { beforeEach, describe, expect, it } from 'vitest';
import {
  decodeNode,
  encodeNode,
  nodeLockPath,
  nodePath,
  ZkLock,
  systemClock,
  type NodeId,
  type NodeRecord,
} from '@nodepool/zk-protocol';
import { call, node, World } from '../../../test/support/world.js';
import { nodeOperations } from './node-operations.js';

const ID = '0000000001' as NodeId;

let world: World;

beforeEach(() => {
  world = new World();
});

const run = (id: string, changes: Parameters<typeof call>[2] = {}) =>
  call(nodeOperations(world.sources), id, { path: { id: ID }, actor: 'alice', ...changes });

async function store(record: NodeRecord): Promise<void> {
  await world.zk.ensurePath(nodePath(record.id));
  await world.zk.setData(nodePath(record.id), encodeNode(record));
  world.nodes.set(record.id, record);
}

describe('reading nodes', () => {
  beforeEach(() => {
    for (const each of [node('1'), node('2', { provider: 'sky', labels: ['big'] }), node('3', { state: 'in-use' })])
      world.nodes.set(each.id, each);
  });

  it.each([
    [{}, ['1', '2', '3']],
    [{ state: 'ready', label: 'small' }, ['1']],
    [{ provider: 'sky' }, ['2']],
    [{ label: 'none' }, []],
  ])('selects %j', async (query, ids) => {
    const found = (await run('listNodes', { query })) as { id: string }[];

    expect(found.map(({ id }) => id)).toEqual(ids);
  });

  it('refuses an unknown state, but not one of another version that a node has', async () => {
    world.nodes.set('4', node('4', { state: 'frozen' as NodeRecord['state'] }));

    await expect(run('listNodes', { query: { state: 'redy' } })).rejects.toMatchObject({ code: 'unknown-state' });
    expect(await run('listNodes', { query: { state: 'frozen' } })).toHaveLength(1);
  });
});

describe('changing a node', () => {
  it('holds it in the name of the token, for the given time', async () => {
    await store(node(ID));

    const held = await run('holdNode', { body: { reason: 'look', seconds: 600 } });

    expect(held).toMatchObject({ state: 'hold', comment: 'held by alice: look', hold_expiration: 600 });
    const { data, stat } = await world.zk.getData(nodePath(ID));
    expect(decodeNode(ID, data, stat, 0)).toMatchObject({ state: 'hold', holdExpirationMs: 600_000 });
  });

  it('refuses to hold one that is lent to a lease, and deletes it', async () => {
    await store(node(ID, { state: 'hold', userData: { lease: 'abc' } }));

    await expect(run('holdNode', { body: { seconds: 2 } })).rejects.toMatchObject({ status: 409, code: 'leased' });

    expect(await run('deleteNode')).toMatchObject({ state: 'deleting' });
  });

  it('releases its lock afterwards, so that another change can follow', async () => {
    await store(node(ID));
    await run('holdNode');

    expect(await run('deleteNode')).toMatchObject({ state: 'deleting' });
  });

  it('fails with 404 for a node that is unknown, or was deleted meanwhile', async () => {
    await expect(run('deleteNode')).rejects.toMatchObject({ status: 404, code: 'unknown-node' });
    world.nodes.set(ID, node(ID));
    await expect(run('deleteNode')).rejects.toMatchObject({ status: 404, code: 'unknown-node' });
  });

  it('fails with 409 while another process holds the lock, naming the request', async () => {
    await store(node(ID, { allocatedTo: '200-0000000009' as NodeRecord['allocatedTo'] }));
    const other = new ZkLock(world.zk, nodeLockPath(ID), { identifier: 'nl02', clock: systemClock });
    await other.acquire();
    const deleted = run('deleteNode').catch((error: unknown) => error);
    while (world.clock.pendingTimers === 0) await new Promise(setImmediate);
    await world.clock.advance(5_000);

    expect(await deleted).toMatchObject({
      ...{ status: 409, code: 'locked' },
      message: expect.stringContaining('it is allocated to request 200-0000000009') as string,
    });
    await other.release();
  });
});
