import { beforeEach, expect, it, vi } from 'vitest';
import { imageBuildLockPath, systemClock, type ZooKeeper } from '@nodepool/zk-protocol';
import { connectInMemory, MemoryServer } from '@nodepool/zk-protocol/memory';
import { silentLogger } from '@nodepool/core';
import { ImageLock } from './image-lock.js';

const ROOT = imageBuildLockPath('debian');

let zk: ZooKeeper;
let other: ZooKeeper;

beforeEach(() => {
  const server = new MemoryServer(systemClock);
  zk = connectInMemory(server).zk;
  other = connectInMemory(server).zk;
});

const take = (client: ZooKeeper) => ImageLock.take({ zk: client, clock: systemClock, logger: silentLogger }, 'debian');

/** Removes the entry of the lock, as the end of its session does. */
async function lose(): Promise<string> {
  const [entry = expect.fail('no holder')] = await other.getChildren(ROOT);
  await other.delete(`${ROOT}/${entry}`);
  return entry;
}

it('is held by one builder at a time', async () => {
  const lock = await take(zk);
  expect(await take(other)).toBeUndefined();
  await lock?.release();

  expect(await take(other)).toBeDefined();
});

it('is taken again when it is lost, and remembers the loss', async () => {
  const lock = (await take(zk)) ?? expect.fail();
  expect(lock.wasLost).toBe(false);
  const lost = await lose();
  await vi.waitFor(async () => expect(await other.getChildren(ROOT)).toHaveLength(1));

  expect(await other.getChildren(ROOT)).not.toEqual([lost]);
  expect(lock.wasLost).toBe(true);
  expect(await take(other)).toBeUndefined();
  await lock.release();
});

it('can be lost and taken again more than once', async () => {
  const lock = (await take(zk)) ?? expect.fail();
  for (let time = 0; time < 3; time++) {
    const lost = await lose();
    await vi.waitFor(async () => {
      const entries = await other.getChildren(ROOT);
      expect(entries).toHaveLength(1);
      expect(entries).not.toContain(lost);
    });
  }
  await lock.release();

  expect(await other.getChildren(ROOT)).toEqual([]);
});

it('does not come back after its release', async () => {
  const lock = (await take(zk)) ?? expect.fail();
  await lock.release();
  await zk.sync('/');

  expect(await other.getChildren(ROOT)).toEqual([]);
  expect(lock.wasLost).toBe(false);
});
