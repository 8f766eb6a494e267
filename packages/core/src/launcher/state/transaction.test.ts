import { nodeLockPath, nodePath, NODE_CREATE_PATH, encodeNode, newNode, type NodeId } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { ServiceWorld } from '../../../test/support/service-world.js';
import { createdPath, isRefusal, nodeIdOf, removeLockDirectory, setNode, Transaction } from './transaction.js';

/** A node, and how a transaction about it ends. */
async function setUp() {
  const world = await ServiceWorld.open();
  const { clock, other, context } = world;
  const id = await world.createNode({});
  const node = context.mirror.nodes.get(id);
  if (!node) throw new Error('the mirror does not show the node');
  const commit = (transaction: Transaction<string>) => clock.run(transaction.commit(context.committer));
  const refusalOf = async (transaction: Transaction<string>) => {
    const error = await commit(transaction).catch((refusal: unknown) => refusal);
    return isRefusal<string>(error) ? { owner: error.owner, kind: error.kind } : error;
  };
  return { clock, other, id, node, commit, refusalOf };
}

describe('a refused transaction', () => {
  it('names what was changed by another process', async () => {
    const { clock, other, id, node, refusalOf } = await setUp();
    await clock.run(other.setData(nodePath(id), encodeNode(node)));
    const transaction = new Transaction<string>();
    transaction.add('first', { op: 'create', path: nodeLockPath(id) });
    transaction.add('second', setNode(node));

    expect(await refusalOf(transaction)).toEqual({ owner: 'second', kind: 'changed' });
    expect(await clock.run(other.exists(nodeLockPath(id)))).toBeUndefined();
  });

  it('names what is gone', async () => {
    const { clock, other, id, node, refusalOf } = await setUp();
    await clock.run(other.delete(nodePath(id)));
    const transaction = new Transaction<string>();
    transaction.add('node', setNode(node));

    expect(await refusalOf(transaction)).toEqual({ owner: 'node', kind: 'gone' });
  });

  it('tells a wrong guess about a lock directory from a lock that is held', async () => {
    const { clock, other, id, node, refusalOf } = await setUp();
    const attempt = (directoryExists: boolean) => {
      const transaction = new Transaction<string>();
      transaction.lock('lock', nodeLockPath(id), directoryExists);
      return refusalOf(transaction);
    };
    const removal = new Transaction<string>();
    removal.add('lock', removeLockDirectory(node));

    const missing = [await attempt(true), await refusalOf(removal)];
    await clock.run(other.ensurePath(nodeLockPath(id)));
    const exists = await attempt(false);
    await clock.run(other.create(`${nodeLockPath(id)}/0123__lock__`, '', { sequential: true }));
    const locked = await attempt(true);

    expect(missing).toEqual([1, 2].map(() => ({ owner: 'lock', kind: 'directory-missing' })));
    expect(exists).toEqual({ owner: 'lock', kind: 'directory-exists' });
    expect(locked).toEqual({ owner: 'lock', kind: 'locked' });
  });
});

it('names the records and lock entries that it has created', async () => {
  const { id, commit } = await setUp();
  const data = encodeNode(newNode({ state: 'init', labels: ['a'] }, 0));
  const transaction = new Transaction<string>();
  const record = transaction.add('record', { op: 'create', path: NODE_CREATE_PATH, data, sequential: true });
  const entry = transaction.lock('lock', nodeLockPath(id), false);

  const results = await commit(transaction);

  expect(nodeIdOf(createdPath(results, record))).toBe('0000000001' as NodeId);
  expect(createdPath(results, entry)).toMatch(new RegExp(`^${nodeLockPath(id)}/`));
  expect(() => createdPath([{ op: 'delete' }], 0)).toThrow('is not a create');
});
