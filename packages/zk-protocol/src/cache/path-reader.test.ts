import { beforeEach, expect, it } from 'vitest';
import { closing, recordingLogger, until } from '../../test/support/clients.js';
import { ManualClock } from '../../test/support/manual-clock.js';
import { whileReading } from '../../test/support/while-reading.js';
import { systemClock } from '../base/clock.js';
import type { ZooKeeperConnection } from '../client/contract/types.js';
import { connectInMemory } from '../server/memory/memory-link.js';
import type { MemoryLink } from '../server/memory/memory-link.js';
import { MemoryServer } from '../server/memory/memory-server.js';
import { PathReader, type PathToRead } from './path-reader.js';

const RETRY_MS = 1000;
const node = (id: string): PathToRead => ({ read: 'data', path: `/${id}`, id });

let zk: ZooKeeperConnection;
let link: MemoryLink;
let clock: ManualClock;
let delivered: string[];
/** Runs during each read. */
let happen: () => Promise<void>;
let reader: PathReader;
const { logger, lines } = recordingLogger();

beforeEach(async () => {
  ({ zk, link } = connectInMemory(new MemoryServer(systemClock)));
  closing(zk);
  await zk.whenConnected();
  clock = new ManualClock();
  delivered = [];
  happen = () => Promise.resolve();
  reader = new PathReader({
    ...{ zk: whileReading(zk, () => happen()), clock, logger, delivered: () => delivered.push('end of batch') },
    deliver: ({ id }, result) => {
      const text = { data: () => `"${String(result.read === 'data' && result.data)}"`, error: () => 'missing' };
      delivered.push(`${id} ${result.read === 'data' ? text.data() : text.error()}`);
    },
  });
});

it('reads all paths marked in one turn in one round trip', async () => {
  await zk.create('/a', 'one');
  const before = zk.counters.requests;

  for (const id of ['a', 'b', 'a']) reader.mark(node(id));
  expect(reader.waiting).toBe(2);
  await reader.whenRead();

  expect(delivered).toEqual(['a "one"', 'b missing', 'end of batch']);
  expect(zk.counters.requests - before).toBe(1);
});

it('drops the reply to a path that was marked during its read, and reads it again', async () => {
  await zk.create('/a', 'old');
  let reads = 0;
  happen = async () => {
    if (++reads > 1) return;
    await zk.setData('/a', 'new');
    reader.mark(node('a'));
  };

  reader.mark(node('a'));
  await reader.whenRead();

  expect(delivered).toEqual(['end of batch', 'a "new"', 'end of batch']);
});

it('delivers every third reply of data that changes during each read', async () => {
  await zk.create('/a', '0');
  let reads = 0;
  happen = async () => {
    if (++reads > 6) return;
    await zk.setData('/a', String(reads));
    reader.mark(node('a'));
  };

  reader.mark(node('a'));
  await reader.whenRead();

  expect(delivered.filter((text) => text.startsWith('a'))).toEqual(['a "2"', 'a "5"', 'a "6"']);
});

it('drops the reply to a path whose state became known, and waits for it no longer', async () => {
  await zk.create('/a', 'one');
  let isReading = false;
  const held = new Promise<void>((resolve) => {
    happen = () => {
      isReading = true;
      return until(() => !isReading).then(resolve);
    };
  });
  reader.mark(node('a'));
  const read = reader.whenRead();
  await until(() => isReading);

  reader.settle('/a');
  await read;
  isReading = false;
  await held;
  await until(() => delivered.length > 0);

  expect(delivered).toEqual(['end of batch']);
});

it('retries a second after a read failed although the connection is up', async () => {
  await zk.create('/a', 'one');
  happen = () => Promise.reject(new Error('the reply makes no sense'));
  reader.mark(node('a'));
  await until(() => clock.pending === 1);
  happen = () => Promise.resolve();

  clock.advance(RETRY_MS);
  await reader.whenRead();

  expect(lines).toEqual(['warn Failed to read changed records; retrying: the reply makes no sense']);
  expect(delivered).toEqual(['a "one"', 'end of batch']);
});

it('keeps paths marked while the connection is down until it resumes', async () => {
  await zk.create('/a', 'one');
  link.break();
  await until(() => zk.state === 'SUSPENDED');
  reader.mark(node('a'));
  await zk.whenConnected();
  expect(delivered).toEqual([]);

  reader.resume();
  await reader.whenRead();

  expect(delivered).toEqual(['a "one"', 'end of batch']);
});

it('stops waiting when it is stopped', async () => {
  reader.mark(node('a'));
  const read = reader.whenRead();

  reader.stop();
  await read;

  expect(reader.waiting).toBe(0);
});
