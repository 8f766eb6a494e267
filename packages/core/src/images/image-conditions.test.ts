import { describe, expect, it } from 'vitest';
import { newBuild, type BuildRecord, type ImageEntry } from '@nodepool/zk-protocol';
import { withFailedTest } from './failed-tests.js';
import { imageConditions } from './image-conditions.js';

const HOUR_MS = 3_600_000;
const NOW_MS = 100 * HOUR_MS;
const debian = { name: 'debian', abstract: false, pause: false, rebuildAgeMs: 24 * HOUR_MS };

const build = (id: string, state: BuildRecord['state'], ageMs: number, error?: string): BuildRecord => ({
  ...newBuild({ image: 'debian', id }, { state }, NOW_MS - ageMs),
  ...(error !== undefined && { raw: { error } }),
});

function imagesOf(builds: readonly BuildRecord[], pauseReason?: string): ReadonlyMap<string, ImageEntry> {
  const entry = { name: 'debian', paused: false, pauseReason, builds: new Map(builds.map((each) => [each.id, each])) };
  return new Map([['debian', entry as unknown as ImageEntry]]);
}

describe('imageConditions', () => {
  it.each([
    [[], ['error NoReadyBuild NeverBuilt']],
    [[build('1', 'failed', HOUR_MS, 'no such package')], ['error NoReadyBuild BuildFailed']],
    [[build('1', 'ready', 47 * HOUR_MS)], []],
    [[build('1', 'ready', 47 * HOUR_MS), build('2', 'failed', HOUR_MS)], ['warning BuildFailed Error']],
    [[build('1', 'ready', 49 * HOUR_MS)], ['warning OldBuild NotRebuilt']],
    [[build('1', 'ready', 49 * HOUR_MS), build('2', 'failed', HOUR_MS)], ['warning OldBuild BuildFailed']],
  ])('%# tells of images that are missing or old', (builds, expected) => {
    const found = imageConditions([debian], imagesOf(builds), NOW_MS);

    expect(found.map(({ severity, type, reason }) => `${severity} ${type} ${reason}`)).toEqual(expected);
  });

  it('reports why an image could not be built', () => {
    const [found] = imageConditions([debian], imagesOf([build('1', 'failed', 0, 'no such package')]), NOW_MS);

    expect(found).toMatchObject({
      message: 'it has no ready build: build 1 has failed: no such package',
      nextStep: 'nodepool image-log debian',
    });
  });

  // Ends: NoReadyBuild NeverBuilt, OldBuild BuildFailed, OldBuild NotRebuilt, TestFailed ImageFault
  it.each([
    ['NoReadyBuild NeverBuilt', []],
    ['NoReadyBuild BuildFailed', [build('1', 'failed', HOUR_MS)]],
    ['BuildFailed Error', [build('1', 'ready', 47 * HOUR_MS), build('2', 'failed', HOUR_MS)]],
    ['OldBuild NotRebuilt', [build('1', 'ready', 49 * HOUR_MS)]],
    ['OldBuild BuildFailed', [build('1', 'ready', 49 * HOUR_MS), build('2', 'failed', HOUR_MS)]],
    ['TestFailed ImageFault', [withFailedTest(build('1', 'ready', HOUR_MS), 'sky', 'no')]],
  ])('%s ends with a new build that is ready, as after nodepool image-build', (expected, builds) => {
    const found = (all: readonly BuildRecord[]) =>
      imageConditions([debian], imagesOf(all), NOW_MS).map(({ type, reason }) => `${type} ${reason}`);

    expect(found(builds)).toEqual([expected]);
    expect(found([...builds, build('9', 'ready', 0)])).toEqual([]);
  });

  it('reports why a build was withdrawn', () => {
    const why = 'build 2 was withdrawn: 3 of 3 launches failed';

    const found = imageConditions([debian], imagesOf([build('1', 'ready', HOUR_MS)], why), NOW_MS);

    expect(found).toMatchObject([{ kind: 'image', name: 'debian', type: 'BuildWithdrawn', message: why }]);
  });

  it('names the provider where the newest build failed its test', () => {
    const failed = withFailedTest(build('2', 'ready', 0), 'sky', 'cloud-init did not end');

    const [found, ...others] = imageConditions([debian], imagesOf([build('1', 'ready', HOUR_MS), failed]), NOW_MS);

    expect(others).toEqual([]);
    expect(found).toMatchObject({
      ...{ kind: 'image', name: 'debian/sky', type: 'TestFailed', severity: 'warning' },
      message: 'build 2 failed its test and is not uploaded to provider "sky": cloud-init did not end',
    });
  });

  it('names the provider where launches withdrew the newest build', () => {
    const counts = { now: { sky: { ready: 0, failed: 3 } } };
    const bad = withFailedTest({ ...build('2', 'ready', 0), raw: { canary: counts } }, 'sky', '3 of 3 launches failed');

    const found = imageConditions([debian], imagesOf([build('1', 'ready', HOUR_MS), bad]), NOW_MS);

    expect(found).toMatchObject([
      {
        ...{
          kind: 'image',
          name: 'debian',
          type: 'BuildWithdrawn',
          nextStep: expect.stringContaining('image-build debian') as string,
        },
        message: 'build 2 was withdrawn in provider "sky": 3 of 3 launches failed',
      },
    ]);
  });

  it('leaves out abstract images', () => {
    expect(imageConditions([{ ...debian, abstract: true }], new Map(), NOW_MS)).toEqual([]);
  });

  it('does not miss builds of an image that is paused in the configuration', () => {
    const old = imagesOf([build('1', 'ready', 49 * HOUR_MS)]);

    expect(imageConditions([{ ...debian, pause: true }], old, NOW_MS)).toEqual([]);
    expect(imageConditions([{ ...debian, pause: true }], new Map(), NOW_MS)).toEqual([]);
  });
});
