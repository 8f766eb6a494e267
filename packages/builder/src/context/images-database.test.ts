import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  ensureDatabaseId,
  readDatabaseMark,
  requestBuild,
  systemClock,
  writeDatabaseMark,
} from '@nodepool/zk-protocol';
import type { Clock } from '@nodepool/zk-protocol';
import { expect, it, vi } from 'vitest';
import { builderConditions } from '../builder-conditions.js';
import type { Builder } from '../builder.js';
import { MAKE_IMAGE, type World } from '../../test/support/world.js';
import { useWorld, whenReady } from '../../test/support/use-world.js';

const WAIT = { timeout: 50_000, interval: 20 };
const DEBIAN = `- name: debian\n  dib-cmd: ${MAKE_IMAGE}\n  elements: [vm]\n  release: 12\n`;
const SWEEP_MS = 60_000;
const ENDINGS = ['qcow2', 'qcow2.md5', 'qcow2.sha256'];

const startWorld = useWorld();

/** Sweeps that have begun. */
let sweeps = 0;

/** A clock on which sweeps are frequent. */
const hurried: Clock = {
  now: () => systemClock.now(),
  setTimer(ms, fire) {
    if (ms !== SWEEP_MS) return systemClock.setTimer(ms, fire);
    sweeps++;
    return systemClock.setTimer(100, fire);
  },
};

function severalSweeps(): Promise<void> {
  const before = sweeps;
  return vi.waitFor(() => expect(sweeps).toBeGreaterThan(before + 5), WAIT);
}

/** A world with one image, built and uploaded by a builder that has ended. */
async function built(): Promise<{ of: World; files: string[] }> {
  const of = await startWorld({ diskimages: DEBIAN });
  const builder = await of.builder();
  await whenReady(of, 1, WAIT);
  await builder.stop();
  await builder.join();
  const files = await of.files();
  expect(files.map((name) => name.replace(/^[^.]*\./, '')).sort()).toEqual(expect.arrayContaining(ENDINGS));
  return { of, files };
}

/** Starts a builder on a database without its records. */
async function startElsewhere(of: World): Promise<{ builder: Builder; id: string }> {
  const zk = await of.connect('/elsewhere');
  const builder = await of.builder({ zk, clock: hurried });
  return { builder, id: await ensureDatabaseId(zk) };
}

const conditionOf = (builder: Builder) =>
  builderConditions(builder, 'nb01', Date.now()).find(({ type }) => type === 'FilesOfAnotherDatabase');

it('with an empty database no file is deleted and nothing is built, and the condition says what to do', async () => {
  const { of, files } = await built();
  const id = await ensureDatabaseId(of.zk);
  const builds = of.happened.filter((text) => text.startsWith('built')).length;

  const { builder } = await startElsewhere(of);

  await vi.waitFor(() => expect(conditionOf(builder)?.message).toContain(`they belong to ${id}`), WAIT);
  expect(conditionOf(builder)?.nextStep).toContain('nodepool image-files adopt');
  expect(builder.work).toMatchObject([{ image: 'debian', phase: 'blocked', error: conditionOf(builder)?.message }]);
  await severalSweeps();
  expect(await of.files()).toEqual(files);
  expect(of.happened.filter((text) => text.startsWith('built'))).toHaveLength(builds);
});

it('a running builder whose database loses its data deletes no file', async () => {
  const of = await startWorld({ diskimages: DEBIAN });
  const builder = await of.builder({ clock: hurried });
  await whenReady(of, 1, WAIT);
  const files = await of.files();
  const id = builder.databaseId;

  await of.loseData();

  await vi.waitFor(() => expect(conditionOf(builder)?.message).toContain(`they belong to ${id}`), WAIT);
  await severalSweeps();
  expect(await of.files()).toEqual(files);
});

// Ends: FilesOfAnotherDatabase Unknown
it('the order to adopt records the builds, which are uploaded without another build', async () => {
  const { of } = await built();
  const { builder, id } = await startElsewhere(of);
  await vi.waitFor(() => expect(conditionOf(builder)).toBeDefined(), WAIT);
  const builds = of.happened.filter((text) => text.startsWith('built')).length;
  const uploads = of.happened.filter((text) => text.startsWith('uploaded')).length;

  await writeDatabaseMark(of.imagesDir, { id, order: 'adopt' });

  await vi.waitFor(
    () => expect(of.happened.filter((text) => text.startsWith('uploaded'))).toHaveLength(uploads + 1),
    WAIT,
  );
  expect(of.happened.filter((text) => text.startsWith('built'))).toHaveLength(builds);
  expect(conditionOf(builder)).toBeUndefined();
  expect(await readDatabaseMark(of.imagesDir)).toMatchObject({ id, order: undefined });
  const [adopted] = [...(builder.tree.images.get('debian')?.builds.values() ?? [])];
  expect(adopted).toMatchObject({ state: 'ready', formats: ['qcow2'], builderId: builder.id, username: 'zuul' });
  const sums = { bytes: expect.any(Number) as number, sha256: expect.stringMatching(/^\w{64}$/) as string };
  expect(adopted?.raw['files']).toMatchObject({ qcow2: sums });
  expect((await of.cloudImages()).map(({ metadata }) => metadata['nodepool_database_id'])).toContain(id);
});

it('the order to forget deletes the builds, and the image is built again', async () => {
  const { of, files } = await built();
  const { builder, id } = await startElsewhere(of);
  await vi.waitFor(() => expect(conditionOf(builder)).toBeDefined(), WAIT);

  await writeDatabaseMark(of.imagesDir, { id, order: 'forget' });

  await vi.waitFor(async () => expect((await of.files()).filter((name) => files.includes(name))).toEqual([]), WAIT);
  await vi.waitFor(() => expect(of.happened.filter((text) => text.startsWith('uploaded'))).toHaveLength(2), WAIT);
});

it('files from before the first mark belong to a database that knows one of them', async () => {
  const { of } = await built();
  const id = await ensureDatabaseId(of.zk);
  const left = `debian-${'e'.repeat(32)}.qcow2`;
  await writeFile(join(of.imagesDir, left), 'left by a crash');
  await rm(join(of.imagesDir, 'database_id.txt'));

  await of.builder({ clock: hurried });

  await vi.waitFor(async () => expect(await of.files()).not.toContain(left), WAIT);
  expect(await readDatabaseMark(of.imagesDir)).toMatchObject({ id, order: undefined });
});

// Ends: FilesOfAnotherDatabase OlderCopy
it('with an older copy of its database no file of a later build is deleted, until an order says what to do', async () => {
  const of = await startWorld({ diskimages: DEBIAN });
  const first = await of.builder();
  await whenReady(of, 1, WAIT);
  await first.stop();
  await first.join();
  const copy = await of.copyData();
  const second = await of.builder();
  await requestBuild(of.zk, 'debian');
  await vi.waitFor(() => expect(of.states('debian').builds).toEqual(['ready', 'ready']), WAIT);
  await second.stop();
  await second.join();
  const files = await of.files();

  await of.loseData(copy);

  const builder = await of.builder({ clock: hurried });
  await vi.waitFor(() => expect(conditionOf(builder)).toMatchObject({ reason: 'OlderCopy' }), WAIT);
  expect(conditionOf(builder)?.message).toMatch(/^1 of 2 builds .* which is an older copy, so it deletes none of them/);
  await severalSweeps();
  expect(await of.files()).toEqual(files);

  const id = await ensureDatabaseId(of.zk);
  await writeDatabaseMark(of.imagesDir, { id, order: 'adopt' });

  await vi.waitFor(() => expect(conditionOf(builder)).toBeUndefined(), WAIT);
  await vi.waitFor(() => expect(builder.tree.images.get('debian')?.builds.size).toBe(2), WAIT);
});
