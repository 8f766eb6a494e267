import { describe, expect, it } from 'vitest';
import { newBuild } from '@nodepool/zk-protocol';
import type { Config } from '@nodepool/core';
import type { Situation } from './finding.js';
import { findAll } from './findings.js';

const HOUR = 3_600_000;
const config = {
  labels: new Map(),
  providers: new Map(),
  diskimages: new Map([['debian', { name: 'debian', rebuildAgeMs: 24 * HOUR }]]),
} as unknown as Config;

const well: Situation = {
  ...{
    nowMs: 100 * HOUR,
    config,
    pools: [],
    nodes: [],
    controls: [],
    builds: new Map(),
    withdrawn: new Map(),
    failedBuilds: new Map(),
    answerMs: 3,
    secretFiles: [],
  },
  ...{ configProblems: [], services: [] },
  components: [{ kind: 'launcher' } as Situation['components'][number]],
};
const build = (ageMs: number) => newBuild({ image: 'debian', id: '1' }, { state: 'ready' }, well.nowMs - ageMs);
const textsOf = (situation: Partial<Situation>) => findAll({ ...well, ...situation }).map(({ text }) => text);

describe('findings', () => {
  it('are none in a system that is well', () => {
    expect(findAll(well)).toEqual([]);
  });

  it.each([
    [undefined, ['image "debian" has no ready build']],
    [build(47 * HOUR), []],
    [build(49 * HOUR), ['the newest build of image "debian" is 49 hours old']],
  ])('tell how old an image is: %#', (newest, expected) => {
    expect(textsOf({ builds: new Map([['debian', newest]]) })).toEqual(expected);
  });

  it('tell why an image could not be built', () => {
    const failedBuilds = new Map([['debian', 'build 3 has failed: no such package']]);
    const found = findAll({ ...well, failedBuilds, builds: new Map([['debian', undefined]]) });

    expect(found).toEqual([
      {
        severity: 'error',
        text: 'image "debian" has no ready build: build 3 has failed: no such package',
        remedy: 'nodepool image-log debian',
      },
    ]);
  });

  it('tell which image was withdrawn, and why', () => {
    const withdrawn = new Map([['debian', 'build 2 was withdrawn: 3 of 3 launches failed']]);

    expect(findAll({ ...well, withdrawn })).toEqual([
      {
        severity: 'warning',
        text: 'image "debian": build 2 was withdrawn: 3 of 3 launches failed',
        remedy: 'nodepool image-log debian; once it is fixed nodepool image-unpause debian',
      },
    ]);
  });

  it('tell that ZooKeeper is slow', () => {
    expect(textsOf({ answerMs: 900 })).toEqual(['ZooKeeper takes 900 ms to answer']);
  });

  it('have what does not work before what is only not as it should be', () => {
    const found = findAll({ ...well, answerMs: 900, components: [] });

    expect(found.map(({ severity }) => severity)).toEqual(['error', 'warning']);
  });
});
