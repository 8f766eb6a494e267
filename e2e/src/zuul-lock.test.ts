import { afterAll, beforeAll, expect, it } from 'vitest';
import { startZooKeeper, type ZooKeeperHandle } from '@nodepool/test-servers';
import type { ZooKeeper } from '@nodepool/zk-protocol';
import { FrameProxy, type Verdict } from './frame-proxy.js';
import { openSession } from './session.js';
import { contenders, ZuulLock } from './zuul-lock.js';

let zookeeper: ZooKeeperHandle;
let first: ZooKeeper;
let second: ZooKeeper;

beforeAll(async () => {
  zookeeper = await startZooKeeper();
  [first, second] = await Promise.all([openSession(zookeeper), openSession(zookeeper)]);
});

afterAll(async () => {
  await Promise.all([first.close(), second.close()]);
  await zookeeper.stop();
});

it('a lock is held by one contender at a time, in order of arrival', async () => {
  const held = new ZuulLock(first, '/lock-a');
  const other = new ZuulLock(second, '/lock-a');
  await held.acquire(1000);

  const attempt = await other.tryAcquire();
  const waiting = other.acquire(5000);
  await held.release();
  await waiting;
  const holders = await contenders(first, '/lock-a');
  await other.release();

  expect(attempt).toBe(false);
  expect(holders).toHaveLength(1);
  expect(await contenders(first, '/lock-a')).toEqual([]);
});

it('a contender leaves no entry after its timeout', async () => {
  const held = new ZuulLock(first, '/lock-b');
  await held.acquire(1000);

  await expect(new ZuulLock(second, '/lock-b').acquire(200)).rejects.toThrow('timeout');

  expect(await contenders(first, '/lock-b')).toHaveLength(1);
  await held.release();
});

it('a lock passes to the next contender when the session of its holder ends', async () => {
  const doomed = await openSession(zookeeper);
  await new ZuulLock(doomed, '/lock-c').acquire(1000);
  const waiting = new ZuulLock(second, '/lock-c');
  const acquired = waiting.acquire(5000);

  await doomed.close();
  await acquired;

  await waiting.release();
});

it('a trap in a proxy runs code right before a packet', async () => {
  const proxy = await FrameProxy.start(zookeeper.plainPort);
  const zk = await openSession({ connectString: `127.0.0.1:${proxy.port}`, tlsFiles: undefined });
  const order: string[] = [];
  proxy.trap(2, async (): Promise<Verdict> => {
    order.push(`second exists: ${(await first.exists('/through-b')) !== undefined}`);
    return 'forward';
  });

  await zk.create('/through-a', '');
  order.push('first');
  await zk.create('/through-b', '');
  order.push('second');

  expect(order).toEqual(['first', 'second exists: false', 'second']);
  expect(proxy.hasFired).toBe(true);
  await zk.close();
  await proxy.stop();
});
