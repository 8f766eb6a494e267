import {
  buildPath,
  buildsPath,
  encodeBuild,
  newBuild,
  requestBuild,
  systemClock,
  ZkLock,
  type Clock,
} from '@nodepool/zk-protocol';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Driver, Provider } from '@nodepool/core';
import { createFakeDriver } from '@nodepool/driver-fake';
import { afterEach, expect, it, vi } from 'vitest';
import { builderConditions } from './builder-conditions.js';
import type { Builder } from './index.js';
import { MAKE_IMAGE, World } from '../test/support/world.js';

let world: World | undefined;
const DEBIAN = `- name: debian\n  dib-cmd: ${MAKE_IMAGE}\n  elements: [vm]\n`;
const WAIT = { timeout: 50_000, interval: 20 };

afterEach(async () => {
  await world?.end();
  world = undefined;
});

/** The clock of this computer, faster by a factor. */
function fastClock(factor: number): Clock {
  const startMs = systemClock.now();
  const faster = (ms: number) => startMs + (ms - startMs) * factor;
  return {
    ...systemClock,
    now: () => faster(systemClock.now()),
    setTimer: (ms, call) => systemClock.setTimer(ms / factor, call),
  };
}

/** A builder that has built and uploaded an image. */
async function start(): Promise<{ of: World; builder: Builder; found: () => object[] }> {
  const of = await World.start({ diskimages: DEBIAN });
  world = of;
  const builder = await of.builder();
  // What the builder itself has seen: another session may be ahead of it.
  const uploads = () => [...(builder.tree.images.get('debian')?.uploads.values() ?? [])].map(({ state }) => state);
  await vi.waitFor(() => expect(uploads()).toEqual(['ready']), WAIT);
  return { of, builder, found: () => builderConditions(builder, 'nb01', Date.now()) };
}

// Ends: UploadsOfRemovedProvider LeftConfiguration
it('a builder reports that uploads of a removed provider keep files until the provider is back', async () => {
  const { of, builder, found } = await start();
  const before = found();

  await builder.reconfigure({ ...of.config, providers: new Map() });
  const removed = found();
  await builder.reconfigure(of.config);

  expect([before, found()]).toEqual([[], []]);
  expect(removed).toMatchObject([
    { kind: 'provider', name: 'sky', type: 'UploadsOfRemovedProvider', severity: 'warning' },
  ]);
  expect(removed[0]).toMatchObject({
    message: expect.stringMatching(/its uploads keep builds and their files: debian-\w+$/) as string,
    nextStep: expect.stringContaining('nodepool erase sky') as string,
  });
});

// Ends: NotStarted Error
it('a builder starts without a provider whose cloud is not known, until a configuration names it', async () => {
  const fake = createFakeDriver();
  let isKnown = false;
  const getProvider: Driver['getProvider'] = (config, context) => {
    if (!isKnown) throw new Error('cloud "sky" is not known');
    return fake.getProvider(config, context);
  };
  const of = await World.start({ diskimages: DEBIAN, drivers: [{ ...fake, getProvider }] });
  world = of;
  const builder = await of.builder();
  const found = () => builderConditions(builder, 'nb01', Date.now()).filter(({ kind }) => kind === 'provider');
  await vi.waitFor(() => expect(of.states('debian').builds).toEqual(['ready']), WAIT);
  const before = found();
  isKnown = true;
  await builder.reconfigure(of.config);
  await vi.waitFor(() => expect(of.states('debian').uploads).toContain('sky ready'), WAIT);

  expect(before).toMatchObject([
    {
      ...{ name: 'sky', type: 'NotStarted', severity: 'error' },
      message: 'it could not be started: cloud "sky" is not known; it gets no images',
    },
  ]);
  expect(found()).toEqual([]);
});

// Ends: BuildFailed Error, NoReadyBuild BuildFailed
it('a builder reports a build that failed, until one succeeds', async () => {
  const failing = `${DEBIAN}  env-vars: {FAIL: "3"}\n`;
  const of = await World.start({ diskimages: failing });
  world = of;
  const builder = await of.builder();
  const found = () => builderConditions(builder, 'nb01', Date.now()).map(({ type, reason }) => `${type} ${reason}`);
  const repair = async () => {
    await builder.reconfigure(await of.reload({ diskimages: DEBIAN }));
    await requestBuild(of.zk, 'debian'); // nodepool image-build
    await vi.waitFor(() => expect(found()).toEqual([]), WAIT);
  };
  await vi.waitFor(() => expect(found()).toEqual(['NoReadyBuild BuildFailed']), WAIT);
  await repair();

  await builder.reconfigure(await of.reload({ diskimages: failing }));
  await requestBuild(of.zk, 'debian');
  await vi.waitFor(() => expect(found()).toEqual(['BuildFailed Error']), WAIT);
  await repair();
});

// Ends: BuildBlocked Error
it('a builder reports a build that cannot begin, until its cause is corrected', async () => {
  const of = await World.start({ diskimages: `${DEBIAN}  pause: true\n` });
  world = of;
  const clock = fastClock(1_200);
  const tmpDir = join(of.dir, 'tmp');
  await mkdir(tmpDir);
  const builder = await of.builder({ clock, tmpDir });
  const found = () => builderConditions(builder, 'nb01', clock.now());
  await rename(tmpDir, `${tmpDir}.away`); // as if its disk was not mounted
  await builder.reconfigure(await of.reload({ diskimages: DEBIAN }));
  await vi.waitFor(() => expect(found()).toMatchObject([{ type: 'BuildBlocked', reason: 'Error' }]), WAIT);
  expect(found()[0]).toMatchObject({ nextStep: 'correct what the error names; it is tried again without a restart' });
  await vi.waitFor(
    () => expect(builder.work).toMatchObject([{ error: expect.stringContaining('next try in') as string }]),
    WAIT,
  );

  await rename(`${tmpDir}.away`, tmpDir);

  await vi.waitFor(() => expect(of.states('debian').builds).toEqual(['ready']), WAIT);
  await vi.waitFor(() => expect(found()).toEqual([]), WAIT);
});

// Ends: UploadImpossible FileGone
it('a builder reports an upload whose file is gone, until the image is built again', async () => {
  const of = await World.start({ diskimages: DEBIAN, provider: 'pause: true' });
  world = of;
  const builder = await of.builder();
  const found = () => builderConditions(builder, 'nb01', Date.now());
  await vi.waitFor(() => expect(of.states('debian').builds).toEqual(['ready']), WAIT);
  for (const file of await of.files()) await rm(join(of.imagesDir, file));
  await builder.reconfigure(await of.reload({ diskimages: DEBIAN }));
  await vi.waitFor(() => expect(found()).toMatchObject([{ type: 'UploadImpossible', reason: 'FileGone' }]), WAIT);
  expect(found()[0]).toMatchObject({ name: 'debian/sky', nextStep: 'nodepool image-build debian' });

  await requestBuild(of.zk, 'debian');

  await vi.waitFor(() => expect(of.states('debian').uploads).toEqual(['sky ready']), WAIT);
  await vi.waitFor(() => expect(found()).toEqual([]), WAIT);
});

// Ends: UploadImpossible FileDamaged
it('a builder reports an upload whose file is damaged, until the image is built again', async () => {
  const of = await World.start({ diskimages: DEBIAN, provider: 'pause: true' });
  world = of;
  const builder = await of.builder();
  const found = () => builderConditions(builder, 'nb01', Date.now());
  await vi.waitFor(() => expect(of.states('debian').builds).toEqual(['ready']), WAIT);
  for (const file of await of.files()) await writeFile(join(of.imagesDir, file), 'damaged');
  await builder.reconfigure(await of.reload({ diskimages: DEBIAN }));
  await vi.waitFor(() => expect(found()).toMatchObject([{ type: 'UploadImpossible', reason: 'FileDamaged' }]), WAIT);
  expect(found()[0]).toMatchObject({ name: 'debian/sky', nextStep: 'nodepool image-build debian' });

  await requestBuild(of.zk, 'debian');

  await vi.waitFor(() => expect(of.states('debian').uploads).toContain('sky ready'), WAIT);
  await vi.waitFor(() => expect(found()).toEqual([]), WAIT);
});

// Ends: RemovalFails Error
it('a builder reports a removal that fails, until its cause is corrected', async () => {
  const fake = createFakeDriver();
  let isInUse = true;
  const picky: Driver = {
    ...fake,
    getProvider(config, context) {
      const provider = fake.getProvider(config, context);
      const deleteImage = provider.deleteImage?.bind(provider);
      const value = (id: string, signal: AbortSignal) =>
        isInUse ? Promise.reject(new Error('it is in use')) : deleteImage?.(id, signal);
      return Object.defineProperty<Provider>(provider, 'deleteImage', { value });
    },
  };
  const of = await World.start({ diskimages: DEBIAN, drivers: [picky] });
  world = of;
  const builder = await of.builder({ clock: fastClock(100) });
  const found = () => builderConditions(builder, 'nb01', Date.now()).filter(({ type }) => type === 'RemovalFails');
  await vi.waitFor(() => expect(of.states('debian').uploads).toEqual(['sky ready']), WAIT);
  await builder.reconfigure(await of.reload({ diskimages: DEBIAN, images: [] }));
  await vi.waitFor(() => expect(found()).toMatchObject([{ reason: 'Error' }]), WAIT);
  expect(found()[0]?.message).toMatch(/^its removal has failed \d+ times: .*it is in use/);

  isInUse = false;

  await vi.waitFor(() => expect(found()).toEqual([]), WAIT);
  expect(await of.cloudImages()).toEqual([]);
});

it('a builder does not report what was paused on purpose, nor builds that a removed provider keeps, as errors', async () => {
  const { of, builder, found } = await start();
  const paused = { diskimages: DEBIAN, provider: 'pause: true' };
  await builder.reconfigure(await of.reload(paused));
  for (let builds = 2; builds <= 3; builds++) {
    await requestBuild(of.zk, 'debian');
    await vi.waitFor(() => expect(of.states('debian').builds).toEqual(Array(builds).fill('ready')), WAIT);
  }
  await vi.waitFor(() => expect(builder.waiting).toMatchObject([{ provider: 'sky', cause: 'Paused' }]), WAIT);

  expect(found()).toEqual([]);

  await builder.reconfigure({ ...of.config, providers: new Map() });
  await vi.waitFor(() => expect(builder.waiting).toMatchObject([{ provider: 'sky', isKept: true }]), WAIT);
  expect(found()).toMatchObject([{ type: 'UploadsOfRemovedProvider', severity: 'warning' }]);
});

// Ends: UploadImpossible BuilderGone
it('a builder reports uploads that wait for the disk of a builder that is gone', async () => {
  const of = await World.start({ diskimages: DEBIAN, provider: 'pause: true' });
  world = of;
  await of.zk.ensurePath(buildsPath('debian'));
  const gone = { builder: 'nb02.example.com', builderId: 'gone', formats: ['qcow2'] };
  const build = newBuild({ image: 'debian', id: 'a'.repeat(32) }, { state: 'ready', ...gone }, Date.now());
  await of.zk.create(buildPath('debian', build.id), encodeBuild(build));
  // A minute of this clock lasts 50 ms, so that sweeps follow each other.
  const clock = fastClock(1_200);
  const builder = await of.builder({ clock });
  await of.reload({ diskimages: DEBIAN });
  await builder.reconfigure({ ...of.config, imagesDir: of.imagesDir });

  await vi.waitFor(
    () =>
      expect(builderConditions(builder, 'nb01', clock.now())).toMatchObject([
        { type: 'UploadImpossible', reason: 'BuilderGone', name: 'debian/sky', severity: 'error' },
      ]),
    WAIT,
  );
  await vi.waitFor(() => expect(of.states('debian').uploads).toEqual(['sky ready']), WAIT); // of the build that replaces it
  expect(builderConditions(builder, 'nb01', clock.now())).toEqual([]);
});

// Ends: IdNotHeld LockLost
it('a builder reports that another may have its id until it holds the id again', async () => {
  const { of, builder, found } = await start();
  const root = `/nodepool/builder-ids/${builder.id}`;
  const [own = ''] = await of.zk.getChildren(root);
  const other = new ZkLock(of.zk, root, { clock: systemClock, identifier: 'nb02' });
  const taken = other.acquire({});
  await vi.waitFor(async () => expect(await of.zk.getChildren(root)).toHaveLength(2), WAIT);

  await of.zk.delete(`${root}/${own}`);
  await taken;
  await vi.waitFor(() => expect(found()).toMatchObject([{ kind: 'builder', name: 'nb01', type: 'IdNotHeld' }]), WAIT);
  await other.release();

  await vi.waitFor(() => expect(found()).toEqual([]), WAIT);
});
