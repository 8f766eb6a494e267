import { silentLogger } from '@nodepool/core';
import {
  decodeNode,
  newNode,
  nodeLockPath,
  nodePath,
  NODES_ROOT,
  systemClock,
  ZkLock,
  ZooKeeperError,
  type NodeId,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import { connectInMemory, MemoryServer } from '@nodepool/zk-protocol/memory';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TrialNode } from './trial-node.js';

const zk = connectInMemory(new MemoryServer(systemClock)).zk;

beforeAll(() => zk.whenConnected());
afterAll(() => zk.close());

const draft = () => newNode({ state: 'init', labels: ['small'], provider: 'sky', pool: 'main' }, 0);
const context = (over: ZooKeeper = zk) => ({
  ...{ zk: over, clock: systemClock, logger: silentLogger, hostname: 'nb01.example.com' },
});

async function stored(id: NodeId) {
  const { data, stat } = await zk.getData(nodePath(id));
  return decodeNode(id, data, stat, 0);
}

describe('a node that tests an image', () => {
  it('stays building and locked during the launch, and is garbage after its release', async () => {
    const node = await TrialNode.create(context(), draft());
    const { id } = node.current;
    expect(await ZkLock.lockHolder(zk, nodeLockPath(id))).toMatchObject({ identifier: 'nb01.example.com' });

    const told = await node.store({ state: 'ready', externalId: 'i-1', interfaceIp: '192.0.2.1' });

    expect(told).toMatchObject({ state: 'ready', externalId: 'i-1' });
    expect(await stored(id)).toMatchObject({ state: 'building', externalId: 'i-1', interfaceIp: '192.0.2.1' });
    await node.giveAway();
    expect(await stored(id)).toMatchObject({ state: 'deleting', externalId: 'i-1' });
    expect(await ZkLock.lockHolder(zk, nodeLockPath(id))).toBeUndefined();
  });

  it('is not written after its lock is lost', async () => {
    const node = await TrialNode.create(context(), draft());
    const { id } = node.current;
    await ZkLock.forceUnlock(zk, nodeLockPath(id));

    await expect(node.store({ externalId: 'i-2' })).rejects.toMatchObject({ code: 'NODEPOOL_LOCK_LOST' });
    await node.giveAway();

    expect(await stored(id)).toMatchObject({ state: 'building', externalId: null });
  });

  it('is released although another process has written it in the meantime', async () => {
    const node = await TrialNode.create(context(), draft());
    const path = nodePath(node.current.id);
    const { data } = await zk.getData(path);
    await zk.setData(path, data);

    await node.giveAway();

    expect(await stored(node.current.id)).toMatchObject({ state: 'deleting' });
  });

  it('leaves no record if the answer to its creation is lost', async () => {
    const before = await zk.getChildren(NODES_ROOT);
    const lossy = new Proxy(zk, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key, target);
        if (key !== 'multi') return typeof value === 'function' ? (value.bind(target) as unknown) : value;
        return async (...operations: Parameters<ZooKeeper['multi']>) => {
          await target.multi(...operations);
          throw new ZooKeeperError('ZK_CONNECTION_LOSS', 'the connection broke');
        };
      },
    });

    await expect(TrialNode.create(context(lossy), draft())).rejects.toMatchObject({ code: 'ZK_CONNECTION_LOSS' });

    expect(await zk.getChildren(NODES_ROOT)).toEqual(before);
  });
});
