import { imageBuildRequestPath, imagePath } from '@nodepool/zk-protocol';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { builderConditions } from './builder-conditions.js';
import { MAKE_IMAGE, World } from '../test/support/world.js';

let world: World | undefined;

afterEach(async () => {
  await world?.end();
  world = undefined;
});

const debian = (more = '') =>
  `- name: debian\n  dib-cmd: ${MAKE_IMAGE}\n  elements: [debian, vm]\n  release: 12\n${more}`;

const WAIT = { timeout: 50_000 };

describe('a builder', () => {
  it('builds an image that is missing and uploads it, and builds it again on request', async () => {
    world = await World.start({ diskimages: debian() });
    const { zk, tree } = world;
    await world.builder();
    const settled = (builds: number) =>
      vi.waitFor(
        () =>
          expect(world?.states('debian')).toEqual({
            builds: Array(builds).fill('ready'),
            uploads: Array(builds).fill('sky ready'),
          }),
        WAIT,
      );
    await settled(1);
    const [first] = [...(tree.images.get('debian')?.uploads.values() ?? [])];
    expect(first).toMatchObject({ format: 'qcow2', username: 'zuul', externalId: expect.any(String) as string });

    for (const builds of [2, 2, 2]) {
      await zk.create(imageBuildRequestPath('debian'));
      await vi.waitFor(async () => expect(await zk.exists(imageBuildRequestPath('debian'))).toBeUndefined(), WAIT);
      await settled(builds);
    }

    expect(await zk.getChildren(imagePath('debian'))).toEqual(['builds']);
    await vi.waitFor(
      async () => expect((await world?.files())?.filter((name) => name.endsWith('.qcow2')).length).toBe(2),
      WAIT,
    );
    expect(world.happened.filter((text) => text.startsWith('built'))).toEqual(Array(4).fill('built debian 0'));
  });

  it('lists images that the configuration keeps from being built, which are no conditions', async () => {
    const [paused, unused] = ['paused', 'unused'].map((name) => debian().replace('debian', name));
    world = await World.start({ diskimages: `${paused}  pause: true\n${unused}`, images: ['paused'] });
    const builder = await world.builder();

    const seen = builder.work.map(({ image, phase, error }) => [image, phase, error]);

    expect(seen).toEqual([
      ['paused', 'blocked', 'the configuration pauses it (pause: true)'],
      ['unused', 'blocked', 'no provider lists it in its diskimages, and it has no formats of its own'],
    ]);
    expect(builderConditions(builder, 'nb01', Date.now())).toEqual([]);
  });
});
