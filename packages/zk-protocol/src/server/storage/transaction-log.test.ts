import { expect, it } from 'vitest';
import { MemoryFileSystem } from '../../../test/server/memory-file-system.js';
import { LOG_MAGIC, TransactionLog, type TransactionLogOptions } from './transaction-log.js';

const DIRECTORY = '/data';
const PATH = '/data/log.1';
const transaction = (zxid: number) => ({ zxid, timeMs: 1000, changes: [{ change: 'delete' as const, path: '/a' }] });

async function open(options: Partial<TransactionLogOptions> = {}) {
  const fs = new MemoryFileSystem();
  const failures: unknown[] = [];
  const durable: number[] = [];
  const log: TransactionLog = await TransactionLog.open(
    {
      ...{ fs, directory: DIRECTORY, fsync: true, confirm: () => Promise.resolve() },
      onDurable: () => durable.push(log.durableBatch),
      onFailure: (error) => failures.push(error),
      ...options,
    },
    { path: PATH, firstZxid: 1, offset: undefined, fileBatch: 0 },
  );
  return { fs, log, failures, durable };
}

it('writes all transactions of one turn as one batch', async () => {
  const { fs, log, durable } = await open();

  for (const zxid of [1, 2, 3]) log.append(transaction(zxid));
  expect([log.lastBatch, log.durableBatch]).toEqual([1, 0]);
  expect(await log.settled()).toBe(true);

  expect(durable).toEqual([1]);
  expect(log.pendingBytes).toBe(0);
  expect(log.durableEnd).toEqual({ path: PATH, firstZxid: 1, offset: (await fs.readFile(PATH)).length });
});

it('continues in a new file with the next batch', async () => {
  const { fs, log } = await open();
  log.append(transaction(1));

  log.startFile({ path: '/data/log.2', firstZxid: 2 });
  log.append(transaction(2));
  await log.close();

  expect(fs.names()).toEqual(['log.1', 'log.2']);
  expect(log.durableEnd).toMatchObject({ path: '/data/log.2', firstZxid: 2 });
});

it('creates a file that was started, even if nothing is written to it', async () => {
  const { fs, log } = await open();
  log.append(transaction(1));

  log.startFile({ path: '/data/log.2', firstZxid: 2 });
  await log.createFile();

  expect(await fs.readFile('/data/log.2')).toEqual(LOG_MAGIC);
  await log.close();
});

it('reports a failed write once, and nothing as durable after it', async () => {
  const { fs, log, failures, durable } = await open();
  fs.syncError = new Error('sync failed');

  log.append(transaction(1));
  const settled = log.settled();
  log.append(transaction(2));

  expect(await settled).toBe(false);
  expect(await log.settled()).toBe(false);
  expect(failures).toEqual([fs.syncError]);
  expect(durable).toEqual([]);
});

it('does not acknowledge a batch if the directory was lost during its write', async () => {
  let confirmations = 0;
  const lost = new Error('the directory was lost');
  const { log, failures } = await open({
    confirm: () => (++confirmations === 2 ? Promise.reject(lost) : Promise.resolve()),
  });

  log.append(transaction(1));

  expect(await log.settled()).toBe(false);
  expect(failures).toEqual([lost]);
  expect(log.durableBatch).toBe(0);
});
