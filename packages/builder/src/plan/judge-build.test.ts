import { describe, expect, it } from 'vitest';
import { newBuild, type ImageEntry } from '@nodepool/zk-protocol';
import type { Config } from '@nodepool/core';
import type { DiskimageConfig } from '@nodepool/core/config';
import { judgeBuild } from './judge-build.js';

const BUILT_MS = 10_000;
const READY: ImageEntry = {
  ...{ name: 'debian', paused: false, buildRequestedMs: undefined, uploads: new Map() },
  builds: new Map([['b1', newBuild({ image: 'debian', id: 'b1' }, { state: 'ready', formats: ['qcow2'] }, BUILT_MS)]]),
};

interface Case {
  readonly image?: Partial<DiskimageConfig>;
  readonly entry?: ImageEntry | undefined;
  readonly nowMs?: number;
  readonly hostname?: string;
}

function judge({ image = {}, entry = READY, nowMs = BUILT_MS, hostname = 'nb01.example.com' }: Case) {
  const diskimage = {
    ...{ name: 'debian', abstract: false, pause: false, formats: ['qcow2'], rebuildAgeMs: 1_000, ...image },
  } as DiskimageConfig;
  const config = { diskimages: new Map([['debian', diskimage]]), providers: new Map() } as unknown as Config;
  return judgeBuild(config, diskimage, { entry, nowMs, hostname });
}

describe('an image is built', () => {
  it.each<[string, Case]>([
    ['requested', { entry: { ...READY, buildRequestedMs: 1 } }],
    ['no ready build', { entry: { ...READY, builds: new Map() } }],
    ['lacks a format', { image: { formats: ['qcow2', 'raw'] } }],
    ['too old', { nowMs: BUILT_MS + 1_000 }],
  ])('because: %s', (why, facts) => {
    expect(judge(facts)).toMatchObject({ build: true, why });
  });

  it('in all its formats', () => {
    expect(judge({ image: { formats: ['raw', 'qcow2'] } })).toMatchObject({ formats: ['qcow2', 'raw'] });
  });

  it.each(['nb01', 'nb01.example.com'])('by a builder that it names as %s', (name) => {
    expect(judge({ image: { builders: [name] }, nowMs: BUILT_MS + 1_000 }).build).toBe(true);
  });
});

describe('an image is not built', () => {
  const requested = { ...READY, buildRequestedMs: 1 };

  it.each<[string, Case]>([
    ['abstract', { image: { abstract: true } }],
    ['paused in the configuration', { image: { pause: true } }],
    ['paused by a person', { entry: { ...requested, paused: true } }],
    ['left to other builders', { image: { builders: ['nb02'] } }],
    ['no formats', { image: { formats: [] } }],
  ])('although it was requested: %s', (why, facts) => {
    const verdict = judge({ entry: requested, ...facts });

    expect(verdict.build).toBe(false);
    expect(verdict.why).toMatch(new RegExp(`^${why}`));
  });

  it('before the newest build has expired, and the expiry time is given', () => {
    expect(judge({ nowMs: BUILT_MS + 999 })).toMatchObject({ build: false, againMs: BUILT_MS + 1_000 });
  });
});
