import { execFile } from 'node:child_process';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { imageBuildRequestPath } from '@nodepool/zk-protocol';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { MAKE_IMAGE, World } from './support/world.js';

let world: World | undefined;
const run = promisify(execFile);
const WAIT = { timeout: 20_000, interval: 10 };
const image = (name: string, more = '') => `- name: ${name}\n  dib-cmd: ${MAKE_IMAGE}\n  elements: [vm]\n${more}`;

afterEach(async () => {
  await world?.end();
  world = undefined;
});

describe('a builder', () => {
  it('begins a build within a second of the request, with 1,000 images', async () => {
    const names = Array.from({ length: 1_000 }, (_, number) => `image-${number}`);
    world = await World.start({
      diskimages:
        names.map((name) => image(name, '  formats: [raw]\n  builders: [elsewhere]\n')).join('') + image('debian'),
    });
    const { zk, tree, happened } = world;
    for (const name of names) await zk.ensurePath(`/nodepool/images/${name}/builds`);
    await world.builder();
    await vi.waitFor(() => expect(happened).toContain('uploaded debian sky'), WAIT);

    const beganMs = performance.now();
    await zk.create(imageBuildRequestPath('debian'));
    await vi.waitFor(() => expect(tree.images.get('debian')?.builds.size).toBe(2), WAIT);
    const tookMs = performance.now() - beganMs;

    expect(tookMs).toBeLessThan(1_000);
    await vi.waitFor(() => expect(happened.filter((text) => text === 'built debian 0')).toHaveLength(2), WAIT);
  });

  it('does not begin a build for which there is too little room', async () => {
    world = await World.start({ diskimages: image('debian') });
    const small = join(world.dir, 'small');
    await mkdir(small);
    await run('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', small]);
    try {
      const builder = await world.builder({ imagesDir: small });
      await writeFile(join(world.dir, 'logs', `debian-${'a'.repeat(32)}.log`), 'of an earlier build');

      await vi.waitFor(
        () =>
          expect(builder.status('debian')).toMatchObject({
            waits: expect.stringMatching(
              /small" has \d MiB free, and the build needs 64 MiB; next try in \d+ s/,
            ) as string,
          }),
        WAIT,
      );
      expect(world.states('debian').builds).toEqual([]);
      expect(await readdir(join(world.dir, 'logs'))).toHaveLength(1);
      await builder.stop();
    } finally {
      await run('umount', ['--lazy', small]);
    }
  });

  it('stops within its time without ZooKeeper', async () => {
    world = await World.start({ diskimages: image('debian', '  env-vars: {WAIT_FOR: /nowhere/at/all}\n') });
    const builder = await world.builder();
    await vi.waitFor(() => expect(builder.running.builds).toHaveLength(1), WAIT);
    await world.stopZooKeeper();

    const beganMs = performance.now();
    await builder.drain(2_000);
    await builder.stop();

    expect(performance.now() - beganMs).toBeLessThan(8_000);
  });
});
