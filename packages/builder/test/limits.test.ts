import { execFile } from 'node:child_process';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '@nodepool/zk-protocol';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { builderConditions } from '../src/builder-conditions.js';
import { MAKE_IMAGE, World } from './support/world.js';

let world: World | undefined;
/** How much faster the clock is of a builder that waits. */
const HURRY = 20;
const run = promisify(execFile);
const WAIT = { timeout: 50_000, interval: 10 };
const image = (name: string, more = '') => `- name: ${name}\n  dib-cmd: ${MAKE_IMAGE}\n  elements: [vm]\n${more}`;

afterEach(async () => {
  await world?.end();
  world = undefined;
});

describe('a builder', () => {
  // Ends: BuildBlocked NoSpace
  it('does not start a build without enough disk space, until there is enough', async () => {
    world = await World.start({ diskimages: image('debian') });
    const small = join(world.dir, 'small');
    await mkdir(small);
    await run('mount', ['-t', 'tmpfs', '-o', 'size=8m,mode=0755', 'tmpfs', small]);
    try {
      const beganMs = systemClock.now();
      const clock = {
        now: () => beganMs + (systemClock.now() - beganMs) * HURRY,
        setTimer: (ms: number, fire: () => void) => systemClock.setTimer(ms / HURRY, fire),
      };
      const builder = await world.builder({ imagesDir: small, clock });
      await writeFile(join(world.dir, 'logs', `debian-${'a'.repeat(32)}.log`), 'of an earlier build');

      await vi.waitFor(
        () =>
          expect(builder.status('debian')).toMatchObject({
            waits: expect.stringMatching(
              /small" has \d MiB free, and the build needs 64 MiB: 5\d MiB are missing; next try in \d+ s/,
            ) as string,
          }),
        WAIT,
      );
      const blocked =
        /: 5\d MiB are missing \(next try in 00:00:0\d:\d\d; at once with "nodepool image-build debian"\)$/;
      expect(builder.work).toMatchObject([
        { image: 'debian', phase: 'blocked', error: expect.stringMatching(blocked) as string },
      ]);
      const conditions = builderConditions(builder, 'nb01', Date.now());
      expect(conditions).toMatchObject([
        { kind: 'image', name: 'debian', type: 'BuildBlocked', severity: 'error', reason: 'NoSpace' },
      ]);
      expect(conditions[0]?.message).toMatch(/small" has \d MiB free, .*: 5\d MiB are missing$/);
      expect(world.states('debian').builds).toEqual([]);
      expect(await readdir(join(world.dir, 'logs'))).toHaveLength(1);
      await run('mount', ['-o', 'remount,size=500m', small]);
      await vi.waitFor(() => expect(builderConditions(builder, 'nb01', clock.now())).toEqual([]), WAIT);
      await vi.waitFor(() => expect(world?.states('debian').builds).toEqual(['ready']), WAIT);
      await builder.stop();
    } finally {
      await run('umount', ['--lazy', small]);
    }
  });

  it('waits for its builds until their build-timeout if the stop has no deadline', async () => {
    const settings = '  build-timeout: 3\n  env-vars: {WAIT_FOR: /nowhere/at/all}\n';
    world = await World.start({ diskimages: image('debian', settings) });
    const builder = await world.builder();
    await vi.waitFor(() => expect(builder.running.builds).toHaveLength(1), WAIT);

    await builder.drain(Infinity);

    const failure = expect.stringContaining('not finished within build-timeout (3 s)') as string;
    await vi.waitFor(() => expect(world?.lastBuild('debian')?.raw['error']).toEqual(failure), WAIT);
  });

  it('stops even if ZooKeeper does not answer', async () => {
    world = await World.start({ diskimages: image('debian', '  env-vars: {WAIT_FOR: /nowhere/at/all}\n') });
    const builder = await world.builder();
    await vi.waitFor(() => expect(builder.running.builds).toHaveLength(1), WAIT);
    await world.stopZooKeeper();

    await builder.drain(2_000);
    await builder.stop();

    // The tool and its files are gone, although the records could not be written.
    const tmpRoot = join(world.dir, `nodepool-builder-${builder.id ?? ''}`);
    await vi.waitFor(async () => expect(await readdir(tmpRoot)).toEqual([]), WAIT);
  });

  it('reports the build that waits for a free worker, and the image that occupies it', async () => {
    const gate = '  env-vars: {WAIT_FOR: /nowhere/at/all}\n';
    world = await World.start({ diskimages: image('debian', gate) + image('ubuntu'), images: ['debian', 'ubuntu'] });
    const builder = await world.builder();
    await vi.waitFor(() => expect(builder.running.builds).toHaveLength(1), WAIT);

    const reason = 'the only build worker is busy with debian (see --build-workers)';
    await vi.waitFor(() => expect(builder.status('ubuntu')).toEqual({ waits: reason }), WAIT);
    expect(builder.work).toMatchObject([
      { image: 'debian', error: null },
      { image: 'ubuntu', buildId: '', phase: 'blocked', error: reason },
    ]);
  });

  it('builds many images concurrently without runtime warnings', async () => {
    const warnings: string[] = [];
    const onWarning = ({ name }: Error) => warnings.push(name);
    process.on('warning', onWarning);
    try {
      const names = Array.from({ length: 12 }, (_, i) => `image-${i}`);
      const all = names.map((name) => image(name, '  env-vars: {WAIT_FOR: /proc/self/cwd/none}\n')).join('');
      world = await World.start({ diskimages: all, images: names });
      const builder = await world.builder({ buildWorkers: names.length });
      await vi.waitFor(
        () => expect(builder.running.builds.map(({ phase }) => phase)).toEqual(names.map(() => 'root')),
        WAIT,
      );
      await builder.stop();
    } finally {
      process.off('warning', onWarning);
    }
    expect(warnings).toEqual([]);
  });
});
