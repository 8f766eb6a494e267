import { encodeNode, nodeLockPath, nodePath, type NodeFields, type RequestId } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { silentLogger } from '../../contract/logger.js';
import { ServiceWorld } from '../../../test/support/service-world.js';
import { releaseNodes } from './release.js';

/** A node that this process has locked for a request. */
async function held(fields: NodeFields) {
  const world = await ServiceWorld.open();
  const { zk, clock, other, context } = world;
  const id = await world.createNode({
    allocatedTo: '200-1' as RequestId,
    tenantName: 'big',
    requestor: 'zuul',
    ...fields,
  });
  const root = nodeLockPath(id);
  await clock.run(zk.ensurePath(root));
  const entry = await clock.run(zk.create(`${root}/0123__lock__`, '', { ephemeral: true, sequential: true }));
  const node = context.mirror.nodes.get(id);
  if (!node) throw new Error('there is no node');
  const release = (fate?: 'deleting') => world.clock.run(releaseNodes(context, [{ node, entry }], silentLogger, fate));
  const look = async () => {
    await world.pass(100);
    const entries = await clock.run(other.getChildren(root).catch(() => []));
    return { node: context.mirror.nodes.get(id), entries };
  };
  return { world, node, release, look };
}

describe('a node that is given back', () => {
  it('is there for anybody', async () => {
    const { release, look } = await held({});

    await release();

    expect(await look()).toMatchObject({
      node: { state: 'ready', allocatedTo: null, tenantName: null, requestor: null },
      entries: [],
    });
  });

  it('is left to be deleted where that frees capacity', async () => {
    const { release, look } = await held({});

    await release('deleting');

    expect(await look()).toMatchObject({ node: { state: 'deleting', allocatedTo: null }, entries: [] });
  });

  it('is only unlocked when it is not ready', async () => {
    const { release, look } = await held({ state: 'failed' });

    await release('deleting');

    expect(await look()).toMatchObject({ node: { state: 'failed', allocatedTo: '200-1' }, entries: [] });
  });

  it('is only unlocked when another process writes it meanwhile', async () => {
    const { world, node, release, look } = await held({});
    const change = world.other.setData(nodePath(node.id), encodeNode({ ...node, comment: 'mine' }));

    await Promise.all([release(), world.clock.run(change)]);

    expect(await look()).toMatchObject({ node: { allocatedTo: '200-1', comment: 'mine' }, entries: [] });
  });

  it('may be gone by then', async () => {
    const { world, node, release, look } = await held({});
    const { entries } = await look();
    const { other } = world;
    const removal = [`${nodeLockPath(node.id)}/${entries[0]}`, nodeLockPath(node.id), nodePath(node.id)].map((path) =>
      other.delete(path),
    );

    await Promise.all([release(), world.clock.run(Promise.all(removal))]);

    expect(await look()).toEqual({ node: undefined, entries: [] });
  });
});
