import { afterAll, beforeAll, expect, it } from 'vitest';
import { startZooKeeper, type ZooKeeperHandle } from '@nodepool/test-servers';
import type { ZooKeeper } from '@nodepool/zk-protocol';
import { FrameProxy, type Verdict } from './frame-proxy.js';
import { describeRecords, readNode } from './inventory.js';
import { openSession } from './session.js';

const NODE = '/nodepool/nodes/0000000001';

let zookeeper: ZooKeeperHandle;
let proxy: FrameProxy;
let zk: ZooKeeper;
let launcher: ZooKeeper;

beforeAll(async () => {
  zookeeper = await startZooKeeper();
  proxy = await FrameProxy.start(zookeeper.plainPort);
  zk = await openSession({ connectString: `127.0.0.1:${proxy.port}`, tlsFiles: undefined });
  launcher = await openSession(zookeeper);
});

afterAll(async () => {
  await Promise.all([zk.close(), launcher.close()]);
  await proxy.stop();
  await zookeeper.stop();
});

it('records are described without a node that is deleted after it was listed', async () => {
  await launcher.ensurePath('/nodepool/requests/200-0000000000');
  await launcher.ensurePath(NODE);
  // requests, the request, its lock, nodes, and then the node
  proxy.trap(5, async (): Promise<Verdict> => {
    await launcher.delete(NODE);
    return 'forward';
  });

  const text = await describeRecords(zk);

  expect(proxy.hasFired).toBe(true);
  expect(text).toBe('requests/200-0000000000 , 0 lock entries');
});

it('a node that is gone, and one without a body, are read as none', async () => {
  await launcher.ensurePath('/nodepool/nodes/0000000002');

  expect(await readNode(zk, '0000000002')).toBeUndefined();
  expect(await readNode(zk, '0000000003')).toBeUndefined();
});
