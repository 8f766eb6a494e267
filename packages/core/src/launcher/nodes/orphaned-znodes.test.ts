import {
  encodeRequest,
  newLockEntryPrefix,
  newRequest,
  nodeLockPath,
  nodePath,
  NODES_ROOT,
  REQUEST_LOCKS_ROOT,
  requestLockPath,
  requestPath,
  type NodeId,
  type RequestId,
} from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { ServiceWorld } from '../../../test/support/service-world.js';
import { OrphanedZnodes } from './orphaned-znodes.js';

async function setUp() {
  const world = await ServiceWorld.open();
  const { clock, other } = world;
  const orphans = new OrphanedZnodes(world.context);
  return {
    world,
    sweep: () => clock.run(orphans.reconsider('minute')),
    /** Another process has the lock. */
    lock: (directory: string) =>
      clock.run(other.create(`${directory}/${newLockEntryPrefix()}`, '', { sequential: true })),
    make: (path: string, body = '') => clock.run(other.ensurePath(path).then(() => other.setData(path, body))),
    children: (path: string) => clock.run(other.getChildren(path)),
  };
}

describe('the lock directory of a request', () => {
  const id = '200-0000000001' as RequestId;

  it('goes with the second sweep after its request', async () => {
    const { make, sweep, children } = await setUp();
    await make(requestLockPath(id));

    await sweep();
    const first = await children(REQUEST_LOCKS_ROOT);
    await sweep();

    expect([first, await children(REQUEST_LOCKS_ROOT)]).toEqual([[id], []]);
  });

  it('stays while it is locked, and others go all the same', async () => {
    const { make, lock, sweep, children } = await setUp();
    await make(requestLockPath(id));
    await make(requestLockPath('200-0000000002' as RequestId));
    await lock(requestLockPath(id));

    await sweep();
    await sweep();

    expect(await children(REQUEST_LOCKS_ROOT)).toEqual([id]);
  });

  it('stays as long as its request', async () => {
    const { world, make, sweep, children } = await setUp();
    await make(requestPath(id), encodeRequest(newRequest({ labels: ['a'] }, 0)).toString());
    await make(requestLockPath(id));
    await world.pass(200);

    await sweep();
    await sweep();

    expect(await children(REQUEST_LOCKS_ROOT)).toEqual([id]);
  });
});

describe('a node record without a body', () => {
  const id = '0000000007' as NodeId;

  it('goes with its lock directory', async () => {
    const { make, sweep, children } = await setUp();
    await make(nodeLockPath(id));

    await sweep();

    expect(await children(NODES_ROOT)).toEqual([]);
  });

  it('stays while it is locked', async () => {
    const { make, lock, sweep, children } = await setUp();
    await make(nodeLockPath(id));
    await lock(nodeLockPath(id));

    await sweep();

    expect(await children(NODES_ROOT)).toEqual([id]);
  });

  it('is another thing than a record that cannot be read', async () => {
    const { make, sweep, children } = await setUp();
    await make(nodePath(id), 'no JSON');

    await sweep();

    expect(await children(NODES_ROOT)).toEqual([id]);
  });
});
