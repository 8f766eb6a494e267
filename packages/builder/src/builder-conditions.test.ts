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
