// A builder of the original with the same id: it takes no lock on its id, so only its builds tell of it.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  buildPath,
  buildsPath,
  encodeBuild,
  imageBuildLockPath,
  newBuild,
  withBuild,
  ZkLock,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import { ConfigError } from '@nodepool/core';
import { VirtualClock } from '@nodepool/core/testing';
import { expect, it, vi } from 'vitest';
import { builderConditions } from '../builder-conditions.js';
import { useWorld } from '../../test/support/use-world.js';
import type { World } from '../../test/support/world.js';

const ID = '6d2c0c2e-5f0e-4c53-9d3e-2f1f6d1e7a10';
const BUILD = 'b'.repeat(32);
const LOCK = imageBuildLockPath('debian');
const WAIT = { timeout: 50_000, interval: 10 };

const startWorld = useWorld();

async function start(): Promise<World> {
  const of = await startWorld({ diskimages: '- name: debian\n  pause: true\n  elements: [vm]\n' });
  await writeFile(join(of.imagesDir, 'builder_id.txt'), ID);
  return of;
}

async function addRecord({ zk }: World): Promise<void> {
  const fields = { state: 'building', builder: 'nb02.example.com', builderId: ID, formats: ['qcow2'] } as const;
  await zk.ensurePath(buildsPath('debian'));
  await zk.create(
    buildPath('debian', BUILD),
    encodeBuild(newBuild({ image: 'debian', id: BUILD }, fields, Date.now())),
  );
}

/** Another process builds, as the original does: first the lock, then the record. @returns its connection and its lock */
async function build(of: World): Promise<{ zk: ZooKeeper; lock: ZkLock }> {
  const zk = await of.connect();
  const lock = new ZkLock(zk, LOCK);
  await lock.acquire();
  await addRecord(of);
  return { zk, lock };
}

/** The builder waits for the lock of the other. */
const untilWaiting = (of: World) => vi.waitFor(async () => expect(await of.zk.getChildren(LOCK)).toHaveLength(2), WAIT);

const newClock = () => new VirtualClock(Date.now());

it('a builder refuses to start while another builds with its id, and says what to do', async () => {
  const of = await start();
  await build(of);
  const clock = newClock();

  const failure = of.builder({ clock }).then(
    () => undefined,
    (error: unknown) => error,
  );
  await untilWaiting(of);
  await clock.advance(40_000);

  expect(await failure).toBeInstanceOf(ConfigError);
  expect(String(await failure)).toMatch(
    new RegExp(
      `a builder without a lock on its id, such as one of the original, builds debian-${BUILD} on nb02.example.com. ` +
        `It uses images-dir "${of.imagesDir}" too, .* stop one of them, or give it a directory of its own`,
    ),
  );
});

it('a builder waits for the session of one that was killed in a build, and starts when it is over', async () => {
  const of = await start();
  const { zk } = await build(of);

  const starting = of.builder({ clock: newClock() });
  await untilWaiting(of);
  await zk.close();

  await expect(starting).resolves.toMatchObject({ notReady: [] });
});

it('a builder starts at once when its own build has died and another builder makes the image', async () => {
  const of = await start();
  await addRecord(of);
  const other = new ZkLock(await of.connect(), LOCK);
  await other.acquire();

  await expect(of.builder({ clock: newClock() })).resolves.toMatchObject({ notReady: [] });
});

// Ends: IdNotHeld BuildOfAnother
it('a builder starts no work while another builds with its id, and reports it', async () => {
  const of = await start();
  const clock = newClock();
  const builder = await of.builder({ clock });
  const sweep = async (reasons: string[]) => {
    await builder.tree.settle();
    await clock.advance(60_000);
    await vi.waitFor(
      () => expect(builderConditions(builder, 'nb01', clock.now()).map(({ reason }) => reason)).toEqual(reasons),
      WAIT,
    );
  };
  await sweep([]);

  const { lock } = await build(of);
  await sweep(['BuildOfAnother']);
  expect(builder.notReady).toEqual(['another builder may have its id']);
  const building = of.lastBuild('debian');
  if (!building) throw new Error('no build');
  await of.zk.setData(buildPath('debian', BUILD), encodeBuild(withBuild(building, { state: 'ready' }, Date.now())));
  await lock.release();

  await sweep(['FileGone']); // the other has the files of its build
  expect(builder.notReady).toEqual([]);
});
