import type { Config } from '@nodepool/core';
import type { DiskimageConfig } from '@nodepool/core/config';
import { withFailedTest } from '@nodepool/core/service';
import { newBuild, newUpload, type ImageEntry } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { judgeBuild } from './judge-build.js';
import { missingFiles, pausedUploads, planUploads, type LocalBuilds } from './plan-uploads.js';

const ID = 'a'.repeat(32);
const BASE = `debian-${ID}`;
const BUILT = newBuild(
  { image: 'debian', id: ID },
  { state: 'ready', builder: 'nb01', builderId: 'here', formats: ['qcow2'] },
  0,
);
const IN_SKY = newUpload({ image: 'debian', buildId: ID, provider: 'sky', id: '1' }, { state: 'ready' }, 0);
const ENTRY: ImageEntry = {
  ...{ name: 'debian', paused: false, buildRequestedMs: undefined },
  ...{ builds: new Map([[ID, BUILT]]), uploads: new Map([['path', IN_SKY]]) },
};
const IMAGES = new Map([['debian', ENTRY]]);

/** Provider `sky` has the build in its format; provider `sea` was added later. */
function config(format: string, more: Partial<DiskimageConfig> = {}, pause = false) {
  const image = {
    name: 'debian',
    formats: [],
    rebuildAgeMs: 1_000,
    deleteAfterUpload: false,
    keepFormats: [],
    ...more,
  };
  const provider = (name: string, format: string) =>
    [
      name,
      {
        name,
        images: { format, diskimages: new Map([['debian', { name: 'debian', pause: pause && name === 'sea' }]]) },
      },
    ] as const;
  return {
    diskimages: new Map([['debian', image]]),
    providers: new Map([provider('sky', 'qcow2'), provider('sea', format)]),
  } as unknown as Config;
}

function judge(settings: Config) {
  const image = settings.diskimages.get('debian');
  if (!image) throw new Error('no image');
  return judgeBuild(settings, image, { entry: ENTRY, nowMs: 0, hostname: 'nb01' });
}

describe('a provider that was added later', () => {
  it('gets its format by conversion without a new build', () => {
    const settings = config('raw');

    expect(planUploads(settings, IMAGES, new Map([[BASE, new Set(['qcow2'])]]))).toEqual([
      { provider: 'sea', build: BUILT, format: 'raw', convertFrom: 'qcow2' },
    ]);
    expect(judge(settings)).toMatchObject({ build: false });
  });

  it('has no image while the configuration pauses it, and the pause is reported', () => {
    const settings = config('qcow2', {}, true);

    expect(planUploads(settings, IMAGES, new Map([[BASE, new Set(['qcow2'])]]))).toEqual([]);
    expect(pausedUploads(settings, IMAGES)).toMatchObject([
      { provider: 'sea', image: 'debian', reason: expect.stringContaining('paused in the configuration') as string },
    ]);
  });

  it('is skipped once the build has failed its test there', () => {
    const failed = { ...ENTRY, builds: new Map([[ID, withFailedTest(BUILT, 'sea', 'no boot')]]) };
    const local = new Map([[BASE, new Set(['qcow2'])]]);

    expect(planUploads(config('qcow2'), IMAGES, local)).toHaveLength(1);
    expect(planUploads(config('qcow2'), new Map([['debian', failed]]), local)).toEqual([]);
  });

  it.each([
    ['the format cannot be made from another one', config('tar')],
    ['the files went with delete-after-upload', config('raw', { deleteAfterUpload: true })],
    ['no provider needs the format, so nothing converts it', config('qcow2', { formats: ['raw'] })],
  ])('has the image built again where %s', (_where, settings) => {
    expect(judge(settings)).toMatchObject({ build: true, why: 'lacks a format' });
  });

  it('gets the reason and the remedy if the image file of the build is missing', () => {
    const missing = (settings: Config, builderId = 'here') =>
      missingFiles(settings, IMAGES, new Map(), {
        builderId,
        nowMs: 0,
        absentSinceMs: () => undefined,
        damage: new Map(),
      });
    const help = 'run "nodepool image-build debian"';

    expect(missing(config('qcow2', { deleteAfterUpload: true }))).toEqual([
      {
        ...{ provider: 'sea', image: 'debian', build: BUILT, cause: 'FileGone' },
        reason: `the qcow2 file of build ${ID} is gone (delete-after-upload): ${help}`,
      },
    ]);
    expect(missing(config('qcow2'))[0]?.reason).toContain('is gone (not in images-dir)');
    expect(missing(config('qcow2'), 'another builder')).toEqual([]);
    const local = new Map([[BASE, new Set(['raw'])]]);
    const situation = { builderId: 'here', nowMs: 0, absentSinceMs: () => undefined, damage: new Map() };
    expect(missingFiles(config('qcow2'), IMAGES, local, situation)).toEqual([]);
  });

  it('gets the name of the builder with the files after that was absent for five minutes', () => {
    const missing = (nowMs: number, local: LocalBuilds = new Map()) =>
      missingFiles(config('qcow2'), IMAGES, local, {
        builderId: 'other',
        nowMs,
        absentSinceMs: () => 1_000,
        damage: new Map(),
      });

    expect(missing(300_999)).toEqual([]);
    expect(missing(301_000)).toMatchObject([
      {
        ...{ provider: 'sea', cause: 'BuilderGone', sinceMs: 1_000 },
        reason: expect.stringMatching(/is on the disk of nb01, which is not registered: start that builder/) as string,
      },
    ]);
    expect(missing(301_000, new Map([[BASE, new Set(['raw'])]]))).toEqual([]);
  });

  it('gets another build after the builder with the files was absent for an hour', () => {
    const settings = config('qcow2');
    const after = (nowMs: number, images: Config = settings) => {
      const image = images.diskimages.get('debian');
      if (!image) throw new Error('no image');
      const situation = { entry: ENTRY, nowMs, hostname: 'nb02', absentSinceMs: 1_000 };
      return judgeBuild(images, { ...image, rebuildAgeMs: 1e9 }, situation);
    };

    expect(after(3_600_999)).toMatchObject({ build: false, againMs: 3_601_000 });
    expect(after(3_601_000)).toMatchObject({ build: true, why: 'its builder is gone' });
    const served = { ...settings, providers: new Map([...settings.providers].slice(0, 1)) };
    expect(after(3_601_000, served)).toMatchObject({ build: false });
  });
});
