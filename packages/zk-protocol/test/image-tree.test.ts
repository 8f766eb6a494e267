import { startZooKeeper, type ZooKeeperHandle } from '@nodepool/test-servers';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../src/base/clock.js';
import { ImageTree } from '../src/cache/image-tree.js';
import { connect } from '../src/client/connect.js';
import type { ReadOperation, ZooKeeper } from '../src/client/contract/types.js';
import { IMAGES_ROOT } from '../src/records/paths.js';
import { recordingLogger, until } from './support.js';
import { whileReading } from './support/while-reading.js';

const UPLOADS = `${IMAGES_ROOT}/debian/builds/0000000001/providers/cloud/images`;
const FIRST = `${UPLOADS}/0000000001`;
const SECOND = `${UPLOADS}/0000000002`;
const body = (state: string) => JSON.stringify({ state, state_time: 1 });

let server: ZooKeeperHandle;
let chroot = 0;
let zk: ZooKeeper;
let other: ZooKeeper;
let tree: ImageTree | undefined;
let isEnded = false;

beforeAll(async () => {
  server = await startZooKeeper({});
});
afterAll(() => server.stop());

beforeEach(async () => {
  const servers = `${server.connectString}/images-${++chroot}`;
  [zk, other] = await Promise.all([connect({ servers }), connect({ servers })]);
  await other.ensurePath(UPLOADS);
  await other.create(FIRST, body('ready'));
  isEnded = false;
});

afterEach(async () => {
  isEnded = true;
  tree?.stop();
  await Promise.all([zk.close(), other.close()]);
});

/** @param happen - while records are read */
async function start(happen: (reads: readonly ReadOperation[]) => Promise<void>): Promise<ImageTree> {
  tree = new ImageTree({
    zk: whileReading(zk, (reads) => (isEnded ? Promise.resolve() : happen(reads))),
    clock: systemClock,
    logger: recordingLogger(),
    changed: () => undefined,
  });
  await tree.start();
  return tree;
}

const states = () => [...(tree?.images.get('debian')?.uploads ?? [])].map(([path, { state }]) => [path, state]);

it('forgets an upload that is deleted while it is read', async () => {
  let isToBeDeleted = false;
  await start(async () => {
    if (!isToBeDeleted) return;
    isToBeDeleted = false;
    await other.delete(FIRST);
    await zk.sync('/'); // the event comes before the answer to this
  });
  const before = states();

  isToBeDeleted = true;
  await other.setData(FIRST, body('deleting'));
  await until(() => !isToBeDeleted);
  await tree?.settle();

  expect(before).toEqual([[FIRST, 'ready']]);
  expect(states()).toEqual([]);
});

it('shows an upload as it is after several changes while it is read', async () => {
  let changes = 0;
  await start(async () => {
    if (changes === 0) return;
    changes--;
    await other.setData(FIRST, body(`change ${changes}`));
    await zk.sync('/');
  });

  changes = 3;
  await other.setData(FIRST, body('deleting'));
  await until(() => changes === 0);
  await tree?.settle();

  expect(states()).toEqual([[FIRST, 'change 0']]);
});

it('keeps an upload that comes while all records are read, after they were listed', async () => {
  await start(async ([read]) => {
    if (read?.read !== 'children' || read.path !== UPLOADS) return;
    await other.create(SECOND, body('uploading'));
    await until(() => states().some(([path]) => path === SECOND));
  });

  expect(states()).toEqual([
    [SECOND, 'uploading'],
    [FIRST, 'ready'],
  ]);
});
