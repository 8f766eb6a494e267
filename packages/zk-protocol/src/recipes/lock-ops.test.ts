import { beforeEach, expect, it } from 'vitest';
import { closing } from '../../test/support/clients.js';
import { systemClock } from '../base/clock.js';
import type { Operation, ZooKeeper } from '../client/contract/types.js';
import { connectInMemory } from '../server/memory/memory-link.js';
import { MemoryServer } from '../server/memory/memory-server.js';
import { lockFailure, lockOps, unlockOps } from './lock-ops.js';

const ROOT = '/node/lock';

let zk: ZooKeeper;

beforeEach(async () => {
  zk = closing(connectInMemory(new MemoryServer(systemClock)).zk);
  await zk.whenConnected();
  await zk.create('/node');
});

const failureOf = (operations: readonly Operation[]) =>
  zk.multi(operations).then(
    () => undefined,
    (error: unknown) => error,
  );

it('acquires and releases a lock within multis', async () => {
  const { ops, entryIndex } = lockOps(ROOT, { directoryExists: false, identifier: 'me' });

  const entry = (await zk.multi(ops))[entryIndex];
  if (entry?.op !== 'create') throw new Error('the multi created no entry');
  expect((await zk.getData(entry.path)).data.toString()).toBe('me');
  expect((await zk.exists(entry.path))?.ephemeralOwner).toBe(zk.sessionId);
  await zk.multi(unlockOps(entry.path));
  const again = await zk.multi(lockOps(ROOT, { directoryExists: true, ephemeral: false }).ops);

  expect(again).toHaveLength(3);
});

it.each([
  ['contended', true, () => zk.ensurePath(`${ROOT}/contender`)],
  ['stale', false, () => zk.ensurePath(ROOT)],
  ['stale', true, () => Promise.resolve()],
  ['gone', false, () => zk.delete('/node')],
])('reports a failed multi as %s (directory expected: %s)', async (expected, directoryExists, arrange) => {
  await arrange();
  const { ops } = lockOps(ROOT, { directoryExists });
  const operations: Operation[] = [{ op: 'check', path: '/' }, ...ops];

  const error = await failureOf(operations);

  expect(lockFailure(error, operations, ROOT)).toBe(expected);
  expect(lockFailure(error, operations, '/other/lock')).toBeUndefined();
});

it('does not take a version mismatch for contention', async () => {
  const operations: Operation[] = [
    ...lockOps(ROOT, { directoryExists: false }).ops,
    { op: 'set', path: '/node', data: '', version: 5 },
  ];

  const error = await failureOf(operations);

  expect(error).toMatchObject({ code: 'ZK_BAD_VERSION' });
  expect(lockFailure(error, operations, ROOT)).toBeUndefined();
});

it('does not take a missing znode of another operation for contention', async () => {
  const operations: Operation[] = [
    { op: 'delete', path: '/missing' },
    ...lockOps(ROOT, { directoryExists: false }).ops,
  ];

  expect(lockFailure(await failureOf(operations), operations, ROOT)).toBeUndefined();
});
