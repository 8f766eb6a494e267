import { startZooKeeper, type ZooKeeperHandle } from '@nodepool/test-servers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { connect } from '../client/connect.js';
import type { ZooKeeper } from '../client/contract/types.js';
import { Election } from './election.js';
import { LockLostError, LockTimeoutError } from './errors.js';
import { lockFailure, lockOps, unlockOps } from './lock-ops.js';
import { ZkLock } from './lock.js';
import { ensureKazoo, startKazooLocker, type KazooLocker } from '../../test/kazoo.js';
import { until } from '../../test/support/clients.js';

let server: ZooKeeperHandle;
let count = 0;
let root = '';
const open: ZooKeeper[] = [];
const kazoos: KazooLocker[] = [];

beforeAll(async () => {
  await ensureKazoo();
  server = await startZooKeeper({});
}, 300_000);
afterAll(() => server.stop());

beforeEach(() => {
  root = `/locks/test-${count++}`;
});

afterEach(async () => {
  await Promise.all(kazoos.splice(0).map((kazoo) => kazoo.stop()));
  await Promise.all(open.splice(0).map((zk) => zk.close()));
});

async function session(sessionTimeoutMs = 4000): Promise<ZooKeeper> {
  const zk = await connect({ servers: server.connectString, sessionTimeoutMs });
  open.push(zk);
  return zk;
}

async function kazoo(identifier: string, kind?: 'ephemeral' | 'lasting'): Promise<KazooLocker> {
  const locker = await startKazooLocker(server.connectString, root, identifier, kind);
  kazoos.push(locker);
  return locker;
}

const waitForContenders = async (zk: ZooKeeper, expected: number): Promise<void> => {
  while ((await new ZkLock(zk, root).contenders()).length !== expected);
};

describe('a lock', () => {
  it('is held by one at a time, in order, and leaves no entries behind', async () => {
    const zk = await session();
    await zk.ensurePath(root);
    const locks = Array.from({ length: 5 }, (_, i) => new ZkLock(zk, root, { identifier: `locker-${i}` }));
    const order: number[] = [];
    let inside = 0;

    await Promise.all(
      locks.map(async (lock, i) => {
        await lock.acquire();
        inside += 1;
        expect(inside).toBe(1);
        await zk.sync('/');
        order.push(i);
        inside -= 1;
        await lock.release();
      }),
    );

    expect(order).toEqual([0, 1, 2, 3, 4]);
    expect(await zk.getChildren(root)).toEqual([]);
  });

  it('returns at once when not blocking, and is not re-entrant', async () => {
    const [one, two] = await Promise.all([session(), session()]);
    const holder = new ZkLock(one, root, { identifier: 'me' });

    expect(await holder.acquire({ blocking: false })).toBe(true);
    expect(await holder.acquire({ blocking: false })).toBe(false);
    expect(await new ZkLock(two, root).acquire({ blocking: false })).toBe(false);

    expect(await holder.contenders()).toEqual(['me']);
    expect(await ZkLock.lockHolder(two, root)).toEqual({ entryPath: holder.entryPath, identifier: 'me' });
    await holder.release();
    expect(await ZkLock.lockHolder(two, root)).toBeUndefined();
    expect(await holder.acquire({ blocking: false })).toBe(true);
  });

  it('rejects after the time limit and leaves the queue', async () => {
    const zk = await session();
    const holder = new ZkLock(zk, root);
    await holder.acquire();

    await expect(new ZkLock(zk, root).acquire({ timeoutMs: 30 })).rejects.toBeInstanceOf(LockTimeoutError);

    expect(await zk.getChildren(root)).toHaveLength(1);
  });

  it('can be cancelled while waiting, but not once held', async () => {
    const zk = await session();
    const holder = new ZkLock(zk, root);
    const cancel = new AbortController();
    await holder.acquire({ signal: cancel.signal });
    const waiter = new ZkLock(zk, root);
    const waiting = waiter.acquire({ signal: cancel.signal });
    await waitForContenders(zk, 2);

    cancel.abort(new Error('stop waiting'));

    await expect(waiting).rejects.toThrow('stop waiting');
    expect(await zk.getChildren(root)).toHaveLength(1);
    expect(holder.held).toBe(true);
    await holder.release();
    expect(await waiter.acquire({ blocking: false })).toBe(true);
  });

  it('is lost when its entry is deleted, and the next in the queue gets it', async () => {
    const [one, two] = await Promise.all([session(), session()]);
    const holder = new ZkLock(one, root);
    const next = new ZkLock(two, root);
    await holder.acquire();
    const waiting = next.acquire();
    await waitForContenders(two, 2);

    expect(await ZkLock.forceUnlock(two, root)).toBe(true);
    await waiting;
    await until(() => holder.lost.aborted);

    expect(holder.lost.reason).toBeInstanceOf(LockLostError);
    expect(holder.held).toBe(false);
    expect(next.held).toBe(true);
    await holder.release();
    expect(next.held).toBe(true);
    expect(next.lost.aborted).toBe(false);
  });

  it('continues to wait when the entry of a waiter is deleted', async () => {
    const [one, two] = await Promise.all([session(), session()]);
    const holder = new ZkLock(one, root);
    const waiter = new ZkLock(two, root);
    await holder.acquire();
    const waiting = waiter.acquire();
    await waitForContenders(one, 2);
    // Other clients can see the entry before its own client does.
    await until(() => waiter.entryPath !== undefined);

    await one.delete(waiter.entryPath ?? '');
    await waitForContenders(one, 2);
    await holder.release();

    expect(await waiting).toBe(true);
  });

  it('is lost with the connection, and can be acquired again in the next session', async () => {
    const zk = await session();
    const lock = new ZkLock(zk, root, { safeSuspendedMs: 50 });
    const lasting = new ZkLock(zk, `${root}-lasting`, { ephemeral: false, safeSuspendedMs: 50 });
    await Promise.all([lock.acquire(), lasting.acquire()]);
    const epoch = zk.sessionEpoch;

    server.pause();
    try {
      await until(() => lock.lost.aborted);
    } finally {
      server.resume();
    }
    await server.restart();
    await lock.release();
    await lock.acquire();

    expect(lock.held).toBe(true);
    expect(lasting.held).toBe(true);
    expect(zk.sessionEpoch).toBeGreaterThanOrEqual(epoch);
    await lasting.release();
    expect(await zk.getChildren(`${root}-lasting`)).toEqual([]);
  });

  it('survives a restart of the server while waiting', async () => {
    const [one, two] = await Promise.all([session(60_000), session(60_000)]);
    const holder = new ZkLock(one, root, { safeSuspendedMs: 50_000 });
    const waiter = new ZkLock(two, root, { safeSuspendedMs: 50_000 });
    await holder.acquire();
    const waiting = waiter.acquire();
    await waitForContenders(two, 2);

    await server.restart();
    await one.whenConnected();
    expect(holder.held).toBe(true);
    await holder.release();

    expect(await waiting).toBe(true);
    expect(await two.getChildren(root)).toHaveLength(1);
  });
});

describe('together with kazoo', () => {
  it('each side waits for the other and sees its identifier', async () => {
    const zk = await session();
    const other = await kazoo('from-python');
    const lock = new ZkLock(zk, root, { identifier: 'from-node' });

    expect(await other.ask('try')).toBe('True');
    expect(await lock.acquire({ blocking: false })).toBe(false);
    await expect(lock.acquire({ timeoutMs: 50 })).rejects.toBeInstanceOf(LockTimeoutError);
    const waiting = lock.acquire();
    await waitForContenders(zk, 2);
    expect(await other.ask('contenders')).toBe('from-python,from-node');
    expect(await other.ask('release')).toBe('True');
    expect(await waiting).toBe(true);
    const second = await kazoo('second');
    expect(await second.ask('try')).toBe('False');
    expect(await second.ask('wait-briefly')).toBe('timeout');
    const theirs = second.ask('wait');
    await waitForContenders(zk, 2);
    await lock.release();

    expect(await theirs).toBe('True');
    expect(await lock.contenders()).toEqual(['second']);
  });

  it('gets the lock of a process that died, and can break a permanent one', async () => {
    const zk = await session();
    const dying = await kazoo('dying');
    await dying.ask('try');
    const lock = new ZkLock(zk, root);
    const waiting = lock.acquire();
    await waitForContenders(zk, 2);

    dying.kill();
    expect(await waiting).toBe(true);
    await lock.release();
    const lasting = await kazoo('NodePool:metastatic:meta', 'lasting');
    await lasting.ask('try');
    await lasting.stop();

    expect((await ZkLock.lockHolder(zk, root))?.identifier).toBe('NodePool:metastatic:meta');
    expect(await ZkLock.forceUnlock(zk, root)).toBe(true);
    expect(await lock.acquire({ blocking: false })).toBe(true);
  });

  it('kazoo respects a lock acquired by a multi, and the multi proves that kazoo does not hold it', async () => {
    const zk = await session();
    await zk.ensurePath('/locks');
    const other = await kazoo('from-python');
    const { ops, entryIndex } = lockOps(root, { directoryExists: undefined, identifier: 'multi' });

    const entry = (await zk.multi(ops))[entryIndex];
    if (entry?.op !== 'create') throw new Error('no entry');
    expect(await other.ask('try')).toBe('False');
    expect(await other.ask('contenders')).toBe('multi');
    const theirs = other.ask('wait');
    await waitForContenders(zk, 2);
    await zk.multi(unlockOps(entry.path));
    expect(await theirs).toBe('True');

    for (const directoryExists of [true, false]) {
      const again = lockOps(root, { directoryExists }).ops;
      const error: unknown = await zk.multi(again).catch((failure: unknown) => failure);
      expect(lockFailure(error, again, root)).toBe(directoryExists ? 'contended' : 'stale');
    }
    await other.ask('release');
    await zk.multi(lockOps(root, { directoryExists: true }).ops);
    expect(await other.ask('try')).toBe('False');
  });
});

describe('an election', () => {
  it('has one leader at a time, and lets a candidate withdraw', async () => {
    const [one, two] = await Promise.all([session(), session()]);
    const first = new Election(one, root, { identifier: 'nl01-1' });
    const second = new Election(two, root, { identifier: 'nl02-2' });
    const never = new AbortController();
    let resign = () => {};
    const leading = new Promise<void>((resolve) => {
      void first.run((lost) => {
        expect(lost.aborted).toBe(false);
        resolve();
        return new Promise((end) => (resign = end));
      }, never.signal);
    });
    await leading;
    const cancel = new AbortController();
    const cancelled = second.run(() => Promise.reject(new Error('two leaders')), cancel.signal);
    await waitForContenders(two, 2);
    expect(await second.contenders()).toEqual(['nl01-1', 'nl02-2']);

    cancel.abort();
    expect(await cancelled).toBe(false);
    resign();
    expect(await second.run(() => Promise.resolve(), never.signal)).toBe(true);
  });
});
