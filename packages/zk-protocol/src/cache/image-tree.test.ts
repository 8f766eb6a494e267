import { afterEach, beforeEach, expect, it } from 'vitest';
import { recordingLogger, until } from '../../test/support/clients.js';
import { whileReading } from '../../test/support/while-reading.js';
import { World } from '../../test/support/world.js';
import { systemClock } from '../base/clock.js';
import type { ReadOperation, ZooKeeper } from '../client/contract/types.js';
import { IMAGES_ROOT } from '../records/paths.js';
import { ImageTree } from './image-tree.js';

const UPLOADS = `${IMAGES_ROOT}/debian/builds/0000000001/providers/cloud/images`;
const FIRST = `${UPLOADS}/0000000001`;
const SECOND = `${UPLOADS}/0000000002`;
const body = (state: string) => JSON.stringify({ state, state_time: 1 });

const world = new World();
let zk: ZooKeeper;
let other: ZooKeeper;
let tree: ImageTree | undefined;
let isEnded = false;

beforeEach(async () => {
  [zk, other] = await Promise.all([world.session(), world.session()]);
  await other.ensurePath(UPLOADS);
  await other.create(FIRST, body('ready'));
  isEnded = false;
});

afterEach(() => {
  isEnded = true;
});

/** @param happen - runs during each read */
async function start(happen: (reads: readonly ReadOperation[]) => Promise<void>): Promise<ImageTree> {
  tree = world.stopping(
    new ImageTree({
      zk: whileReading(zk, (reads) => (isEnded ? Promise.resolve() : happen(reads))),
      clock: systemClock,
      logger: recordingLogger().logger,
      changed: () => undefined,
    }),
  );
  await tree.start();
  return tree;
}

const states = () => [...(tree?.images.get('debian')?.uploads ?? [])].map(([path, { state }]) => [path, state]);

it('drops an upload that is deleted while it is read', async () => {
  let isToBeDeleted = false;
  await start(async () => {
    if (!isToBeDeleted) return;
    isToBeDeleted = false;
    await other.delete(FIRST);
    await zk.sync('/'); // the event arrives before its reply
  });
  const before = states();

  isToBeDeleted = true;
  await other.setData(FIRST, body('deleting'));
  await until(() => !isToBeDeleted);
  await tree?.settle();

  expect(before).toEqual([[FIRST, 'ready']]);
  expect(states()).toEqual([]);
});

it('shows the last of several changes made while an upload is read', async () => {
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

it('keeps an upload that is created after the listing of a rebuild', async () => {
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
