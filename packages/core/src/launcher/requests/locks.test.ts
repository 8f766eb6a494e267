import { newNode, nodeLockPath, requestLockPath, requestPath } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { ServedRequest } from '../../../test/support/served-request.js';
import { allocate } from './locks.js';

/** A request and a ready node that is to be allocated to it. */
async function allocation() {
  const served = await ServedRequest.begin(['a']);
  const id = await served.world.createNode({});
  const { world, context } = served;
  const [node] = served.nodes();
  const request = await served.stored();
  if (!node) throw new Error('there is no node');
  const draft = newNode({ state: 'init', labels: ['a'] }, 0);
  const run = () => world.clock.run(allocate(context, request, [node], { acceptRequest: true, drafts: [draft] }));
  return { served, world, id, run };
}

describe('an allocation', () => {
  it('locks the request and its nodes, and makes new records, all at once', async () => {
    const { served, id, run } = await allocation();

    const result = await run();

    const [made] = 'made' in result ? result.made : [];
    expect(result).toMatchObject({
      requestEntry: `${requestLockPath(served.id)}/${(await served.entries())[0]}`,
      nodeEntries: new Map([[id, `${nodeLockPath(id)}/${(await served.nodeEntries(id))[0]}`]]),
    });
    expect(served.node(made)).toMatchObject({ state: 'init', stat: { czxid: served.node(id)?.stat?.mzxid } });
    expect(served.node(id)).toMatchObject({ allocatedTo: served.id, requestor: 'zuul' });
    expect(await served.stored()).toMatchObject({ state: 'pending' });
  });

  it('finds lock directories that it did not know of', async () => {
    const { served, world, id, run } = await allocation();
    const directories = [requestLockPath(served.id), nodeLockPath(id)].map((path) => world.other.ensurePath(path));

    const [result] = await Promise.all([run(), ...directories]);

    expect('conflict' in result).toBe(false);
  });

  it('changes nothing when a node is locked by another process, and names that', async () => {
    const { served, id, run } = await allocation();
    await served.lockElsewhere(id);

    expect(await run()).toEqual({ conflict: 'locked', subject: { kind: 'node', id } });
    expect([await served.entries(), served.nodes().length]).toEqual([[], 1]);
  });

  it('changes nothing when the request is gone, and names that', async () => {
    const { served, world, id, run } = await allocation();
    await world.clock.run(world.other.delete(requestPath(served.id)));

    expect(await run()).toEqual({ conflict: 'gone', subject: { kind: 'request' } });
    expect(served.node(id)).toMatchObject({ allocatedTo: null });
  });
});
