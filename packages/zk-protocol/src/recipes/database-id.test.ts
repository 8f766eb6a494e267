import { startZooKeeper, type ZooKeeperHandle } from '@nodepool/test-servers';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { connect } from '../client/connect.js';
import type { ZooKeeper } from '../client/contract/types.js';
import { DATABASE_ID_PATH } from '../records/paths.js';
import { ensureDatabaseId, readDatabaseId } from './database-id.js';

let server: ZooKeeperHandle;
let chroot = 0;
const open: ZooKeeper[] = [];

beforeAll(async () => {
  server = await startZooKeeper({});
});
afterAll(() => server.stop());

afterEach(async () => {
  chroot += 1;
  await Promise.all(open.splice(0).map((zk) => zk.close()));
});

async function session(): Promise<ZooKeeper> {
  const zk = await connect({ servers: `${server.connectString}/id-${chroot}`, sessionTimeoutMs: 20_000 });
  open.push(zk);
  return zk;
}

it('is made once, by whichever of several services is first, and stays', async () => {
  const services = await Promise.all([session(), session(), session()]);
  const before = await readDatabaseId(services[0]);

  const made = await Promise.all(services.map((zk) => ensureDatabaseId(zk)));
  const again = await ensureDatabaseId(await session());

  expect(before).toBeUndefined();
  expect(again).toMatch(/^[0-9a-f]{32}$/);
  expect(made).toEqual([again, again, again]);
  expect((await services[0].exists(DATABASE_ID_PATH))?.version).toBe(0);
});

it('is another one in another chroot', async () => {
  const first = await ensureDatabaseId(await session());
  chroot += 1;

  expect(await ensureDatabaseId(await session())).not.toBe(first);
});

it.each(['', 'A'.repeat(32), '{}'])('is never guessed from %j, and the error says how to go on', async (text) => {
  const zk = await session();
  await zk.ensurePath('/nodepool');
  await zk.create(DATABASE_ID_PATH, text);

  const reading = ensureDatabaseId(zk);

  await expect(reading).rejects.toThrow(/\/nodepool\/database-id: it holds .* delete the znode/);
});
