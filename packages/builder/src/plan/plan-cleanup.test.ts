import type { Config } from '@nodepool/core';
import { NEW_TRIAL, withTrial } from '@nodepool/core/service';
import {
  newBuild,
  newUpload,
  uploadPath,
  type BuildRecord,
  type ImageEntry,
  type UploadRecord,
} from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { pinnedBuilds, planCleanup } from './plan-cleanup.js';

const configWith = (image: object) =>
  ({
    diskimages: new Map([['debian', { abstract: false }]]),
    providers: new Map([['sky', { name: 'sky', images: { diskimages: new Map([['debian', image]]) } }]]),
  }) as unknown as Config;
const CONFIG = configWith({ name: 'debian' });
const PAUSED = configWith({ name: 'debian', pause: true });

/** Ready builds with uploads, each one second newer than its predecessor. Capital letters mark builds on trial. */
function image(names: string): ImageEntry {
  const builds = [...names].map((id, at): BuildRecord => {
    const build = newBuild({ image: 'debian', id }, { state: 'ready' }, at * 1_000);
    return id === id.toUpperCase() ? withTrial(build, NEW_TRIAL) : build;
  });
  const uploads = builds.map(({ id, stateTimeMs }) => {
    const upload = newUpload(
      { image: 'debian', buildId: id, provider: 'sky', id: '1' },
      { state: 'ready' },
      stateTimeMs,
    );
    return [uploadPath('debian', id, 'sky', '1'), upload] as const;
  });
  return {
    ...{ name: 'debian', paused: false, buildRequestedMs: undefined },
    ...{ builds: new Map(builds.map((build) => [build.id, build])), uploads: new Map(uploads) },
  };
}

function removed(names: string): string[] {
  const steps = planCleanup(CONFIG, image(names), 5_000);
  return [...new Set(steps.map((step) => ('upload' in step ? step.upload.buildId : step.build.id)))];
}

describe('an old build', () => {
  it('kept only by an upload to a removed provider is reported with a remedy', () => {
    const gone = { ...CONFIG, providers: new Map() } as unknown as Config;
    const names = (config: Config) =>
      pinnedBuilds(config, image('abc')).map(({ build, provider, reason }) => [build.id, provider, reason]);

    expect(planCleanup(gone, image('abc'), 5_000)).toEqual([]);
    expect(names(gone)).toEqual([['a', 'sky', expect.stringContaining('or run "nodepool erase sky"')]]);
    expect(names(CONFIG)).toEqual([]);
  });
});

/** An image with one build and uploads of it, numbered from 1. */
function uploading(states: readonly UploadRecord['state'][]): ImageEntry {
  const uploads = states.map((state, index) => {
    const key = { image: 'debian', buildId: 'a', provider: 'sky', id: String(index + 1) };
    return [uploadPath('debian', 'a', 'sky', key.id), newUpload(key, { state }, 0)] as const;
  });
  return { ...image('a'), uploads: new Map(uploads) };
}

describe('the cleanup of an image', () => {
  it.each([
    ['the last one, which a builder continues', ['uploading', 'uploading'], CONFIG, ['1']],
    ['none if the build is uploaded', ['uploading', 'ready'], CONFIG, ['1']],
    ['none if uploads are paused', ['uploading'], PAUSED, ['1']],
  ] as const)('keeps of uploads that have begun %s', (_which, states, config, forgotten) => {
    const steps = planCleanup(config, uploading(states), 5_000);

    expect(steps.map((step) => step.step)).toEqual(forgotten.map(() => 'forget-upload'));
    expect(steps.map((step) => ('upload' in step ? step.upload.id : ''))).toEqual(forgotten);
  });

  it('keeps the current and the previous build', () => {
    expect(removed('abc')).toEqual(['a']);
  });

  it('keeps the build in service while newer builds are on trial', () => {
    expect(removed('abCD')).toEqual(['a']);
    expect(removed('abcD')).toEqual(['a', 'b']);
  });
});
