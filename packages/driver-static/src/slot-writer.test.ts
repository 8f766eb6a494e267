import { describe, expect, it } from 'vitest';
import { allReady, entry, unchecked, useWorlds } from '../test/world.js';
import { SlotIndex } from './slot-index.js';
import { SlotWriter, writeLocked } from './slot-writer.js';

const open = useWorlds();

async function registered() {
  const world = await open();
  await world.configure(entry([unchecked('h1')]));
  const [record] = await world.until(allReady(1), 'the host is registered');
  if (record === undefined) throw new Error('no record');
  const lock = `/nodepool/nodes/${record.id}/lock`;
  return { ...world, record, lock };
}

describe('writeLocked', () => {
  it('writes a record and leaves an empty lock directory', async () => {
    const { record, context, nodes, zk, lock } = await registered();

    await expect(writeLocked(record, { comment: 'first' }, 1, context)).resolves.toBe('written');
    const written = nodes.get(record.id);
    if (written === undefined) throw new Error('no record');
    await expect(writeLocked(written, { comment: 'second' }, 2, context)).resolves.toBe('written');

    expect(nodes.get(record.id)).toMatchObject({ comment: 'second' });
    await expect(zk.getChildren(lock)).resolves.toEqual([]);
  });

  it('leaves a record that another process has locked', async () => {
    const { record, context, zk, lock, nodes } = await registered();
    await zk.ensurePath(lock);
    await zk.create(`${lock}/${'0'.repeat(32)}__lock__`, '', { ephemeral: true, sequential: true });

    await expect(writeLocked(record, { state: 'deleting' }, 1, context)).resolves.toBe('busy');

    expect(nodes.get(record.id)?.state).toBe('ready');
  });

  it('reports a record that was changed or deleted in the meantime', async () => {
    const { record, context, write, deleteNode } = await registered();
    await write(record.id, { comment: 'changed' });

    await expect(writeLocked(record, { state: 'deleting' }, 1, context)).resolves.toBe('changed');
    await deleteNode(record.id);
    await expect(writeLocked(record, { state: 'deleting' }, 1, context)).resolves.toBe('changed');
  });
});

describe('SlotWriter', () => {
  it('has one pending write for each record', async () => {
    const { record, context, nodes } = await registered();
    const writer = new SlotWriter(context, new SlotIndex('rack'));

    writer.deregister(undefined, record, 'the host is not configured');
    writer.deregister(undefined, record, 'the host is not configured');
    await writer.settled();

    expect(nodes.get(record.id)).toMatchObject({ state: 'deleting', stat: { version: 1 } });
  });
});
