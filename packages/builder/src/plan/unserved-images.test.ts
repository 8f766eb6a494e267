import type { Config } from '@nodepool/core';
import { newBuild, newUpload, uploadPath, type BuildRecord, type ImageEntry } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { superfluousFormats } from '../janitor/janitor.js';
import { judgeBuild } from './judge-build.js';
import { pinnedBuilds, planCleanup } from './plan-cleanup.js';
import { isConfigured, isForUnserved } from './unserved-images.js';

const served = (...images: string[]) => ({
  name: 'sky',
  images: { format: 'raw', diskimages: new Map(images.map((name) => [name, {}])) },
});
const diskimage = { abstract: false, formats: ['qcow2'], deleteAfterUpload: true, keepFormats: [], rebuildAgeMs: 1 };

/** `debian` is for `sky` and `pods`, `fedora` for `pods` only, `alpine` for `sky` only; the driver of `pods` is missing. */
const CONFIG = {
  diskimages: new Map(['debian', 'fedora', 'alpine'].map((name) => [name, { ...diskimage, name }])),
  providers: new Map([['sky', served('debian', 'alpine')]]),
  unserved: new Map([['pods', { name: 'pods', diskimages: new Set(['debian', 'fedora']) }]]),
} as unknown as Config;

/** Builds with an upload to each provider, each one second newer than its predecessor. */
function image(name: string, states: BuildRecord['state'][], providers: string[]): ImageEntry {
  const builds = states.map((state, at) => newBuild({ image: name, id: `${at}` }, { state }, at * 1_000));
  const uploads = builds.flatMap(({ id: buildId, stateTimeMs }) =>
    providers.map((provider) => {
      const upload = newUpload({ image: name, buildId, provider, id: '1' }, { state: 'ready' }, stateTimeMs);
      return [uploadPath(name, buildId, provider, '1'), upload] as const;
    }),
  );
  return {
    ...{ name, paused: false, buildRequestedMs: undefined },
    ...{ builds: new Map(builds.map((build) => [build.id, build])), uploads: new Map(uploads) },
  };
}

const NOW_MS = 100_000_000;
const steps = (entry: ImageEntry) =>
  planCleanup(CONFIG, entry, NOW_MS).map((step) =>
    'upload' in step ? `${step.step} ${step.upload.provider}/${step.upload.buildId}` : `${step.step} ${step.build.id}`,
  );
const THREE: BuildRecord['state'][] = ['ready', 'ready', 'ready'];

describe('an image of a provider whose driver is missing', () => {
  it('is distinguished from other images', () => {
    expect(['debian', 'fedora', 'alpine'].map((name) => isForUnserved(CONFIG, name))).toEqual([false, true, false]);
    expect(['sky', 'pods', 'gone'].map((name) => isConfigured(CONFIG, name))).toEqual([true, true, false]);
  });

  it('is built only if another provider takes it', () => {
    const judge = (name: string) => {
      const config = CONFIG.diskimages.get(name);
      if (!config) throw new Error(`no image ${name}`);
      return judgeBuild(CONFIG, config, { entry: undefined, nowMs: NOW_MS, hostname: 'here' });
    };

    expect(judge('fedora')).toEqual({ build: false, why: 'left to other builders' });
    expect(judge('debian')).toMatchObject({ build: true, formats: ['qcow2', 'raw'] });
  });

  it('keeps its uploads there, and the builds that these need', () => {
    expect(steps(image('debian', THREE, ['sky', 'pods']))).toEqual(['delete-upload sky/0']);
    expect(steps(image('fedora', THREE, ['pods']))).toEqual([]);
    expect(steps(image('fedora', ['building', 'failed', ...THREE], []))).toEqual([]);
    expect(steps(image('alpine', THREE, []))).toEqual(['retire-build 0']);
  });

  it('loses its uploads in providers that do not list it any more, and builds that an operator deletes', () => {
    expect(steps(image('fedora', THREE, ['sky', 'pods']))).toContain('delete-upload sky/2');
    expect(steps(image('fedora', ['deleting', ...THREE], []))).toEqual(['delete-build 0']);
    expect(steps(image('fedora', ['deleting', ...THREE], ['pods']))).toEqual([]);
  });

  it('is no upload of a removed provider', () => {
    expect(pinnedBuilds(CONFIG, image('debian', THREE, ['sky', 'pods']))).toEqual([]);
    expect(pinnedBuilds(CONFIG, image('debian', THREE, ['gone']))).toHaveLength(1);
  });

  it('keeps its local files, as the format of that provider is not known', () => {
    const formats = (name: string) =>
      superfluousFormats(CONFIG, image(name, THREE, ['sky']), {
        ...{ image: name, buildId: '2', formats: new Set(['qcow2', 'raw']) },
      } as unknown as Parameters<typeof superfluousFormats>[2]);

    expect(formats('debian')).toEqual([]);
    expect(formats('alpine')).toEqual(['qcow2', 'raw']);
  });
});
