import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '@nodepool/core';
import { connect, systemClock, ZkLock, type WatchListener, type ZooKeeper } from '@nodepool/zk-protocol';
import { startEmbeddedServer, type EmbeddedServer } from '@nodepool/zk-protocol/embedded';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BuilderIdLock } from './unique-builder.js';

let dir: string;
let server: EmbeddedServer;
const ends: (() => Promise<void>)[] = [];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'builder-id-'));
  server = await startEmbeddedServer({ dataDir: dir });
});

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await server.close();
  await rm(dir, { recursive: true });
});

async function connected(): Promise<ZooKeeper> {
  const zk = await connect({ servers: server.connectString });
  ends.push(() => zk.close());
  return zk;
}

const lockOn = (zk: ZooKeeper, regained: () => void = () => undefined) =>
  new BuilderIdLock(
    {
      ...{ zk, clock: systemClock, logger: silentLogger },
      ...{ hostname: 'nb01.example.com', builderId: 'one', imagesDir: dir },
    },
    regained,
  );

/** A connection that answers about the first watched entry only after another client has deleted it. */
function outrun(zk: ZooKeeper, other: ZooKeeper): ZooKeeper {
  let isFirst = true;
  const exists: ZooKeeper['exists'] = async (path: string, watch?: WatchListener) => {
    const stat = await zk.exists(path, watch);
    if (isFirst && watch) {
      isFirst = false;
      await other.delete(path);
      await zk.sync('/'); // the event has come
    }
    return stat;
  };
  return new Proxy(zk, {
    get(target, key) {
      if (key === 'exists') return exists;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

describe('the lock on the id of a builder', () => {
  it('is held once it is taken, although its entry was deleted while it was obtained', async () => {
    const regained = vi.fn();
    const [first, other] = [await connected(), await connected()];
    const lock = lockOn(outrun(first, other), regained);

    await lock.take();

    expect(await ZkLock.lockHolder(other, '/nodepool/builder-ids/one')).toBeDefined();
    expect(lock.held).toBe(true);
    expect(regained).not.toHaveBeenCalled(); // it was never lost
    await lock.release();
  });

  it('is given up by a stop while ZooKeeper does not answer', async () => {
    const lock = lockOn(await connected());
    await server.close();

    const taking = lock.take();
    await lock.release();

    await expect(taking).rejects.toThrow('the builder stops');
    expect(lock.held).toBe(false);
  });
});
