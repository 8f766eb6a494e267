import { beforeEach, expect, it } from 'vitest';
import { closing, recordingLogger, until } from '../../test/support/clients.js';
import { ManualClock } from '../../test/support/manual-clock.js';
import { systemClock } from '../base/clock.js';
import { ZooKeeperError } from '../client/contract/errors.js';
import type { ZooKeeper, ZooKeeperConnection } from '../client/contract/types.js';
import { connectInMemory } from '../server/memory/memory-link.js';
import { MemoryServer } from '../server/memory/memory-server.js';
import { PathReader } from './path-reader.js';
import { Rebuild } from './rebuild.js';
import { TreeLayout } from './tree-layout.js';

const RETRY_MS = 1000;
const layout = new TreeLayout([{ path: '/nodes', idPrefix: '' }], true);

let zk: ZooKeeperConnection;
let read: string[];
let done: number;

beforeEach(async () => {
  zk = closing(connectInMemory(new MemoryServer(systemClock)).zk);
  await zk.whenConnected();
  read = [];
  done = 0;
});

function rebuildOf(session: Pick<ZooKeeper, 'getChildren'>, known: string[] = [], clock = new ManualClock()) {
  const { logger, lines } = recordingLogger();
  const reader = new PathReader({
    ...{ zk, clock, logger },
    deliver: ({ path }, result) => {
      read.push(`${path} ${result.read}`);
      rebuild.arrived(path);
    },
    delivered: () => rebuild.finishIfDone(),
  });
  const onDone = () => {
    done += 1;
  };
  const rebuild = new Rebuild({ zk: session, clock, logger, layout, reader, knownIds: () => known, onDone });
  return { rebuild, lines, clock };
}

it('reads listed records with their locks, and cached ones that are not listed', async () => {
  await zk.ensurePath('/nodes/1/lock');
  await zk.ensurePath('/nodes/lock');
  const { rebuild } = rebuildOf(zk, ['2']);

  rebuild.start();
  await until(() => done > 0);

  expect(read).toEqual(['/nodes/1 data', '/nodes/1/lock children', '/nodes/2 error', '/nodes/2/lock error']);
});

it('completes at once if the directory does not exist', async () => {
  const { rebuild } = rebuildOf(zk);

  rebuild.start();
  await until(() => done > 0);

  expect(read).toEqual([]);
});

it('is done once when it was started twice, and never after it was cancelled', async () => {
  await zk.ensurePath('/nodes/1');
  const { rebuild } = rebuildOf(zk);
  const cancelled = rebuildOf(zk).rebuild;

  cancelled.start();
  cancelled.cancel();
  rebuild.start();
  rebuild.start();
  await until(() => done > 0);
  await zk.sync('/');

  expect(done).toBe(1);
});

it('waits for a path no longer once it is known by other means', async () => {
  await zk.ensurePath('/nodes/1');
  const { rebuild } = rebuildOf(zk);
  expect(rebuild.arrived('/nodes/1')).toBe(false);

  rebuild.start();
  expect(rebuild.arrived('/nodes')).toBe(true);
  rebuild.finishIfDone();

  expect(done).toBe(1);
});

it('retries a listing that failed although the connection is up', async () => {
  let isRefused = true;
  const refusing: Pick<ZooKeeper, 'getChildren'> = {
    getChildren: (path) =>
      isRefused ? Promise.reject(new ZooKeeperError('ZK_NO_AUTH', 'no permission')) : zk.getChildren(path),
  };
  const { rebuild, lines, clock } = rebuildOf(refusing);
  rebuild.start();
  await until(() => clock.pending === 1);
  isRefused = false;

  clock.advance(RETRY_MS);
  await until(() => done > 0);

  expect(lines).toEqual(['error Failed to list records; retrying: no permission']);
});
