import { newBuild, newNode, type BuildRecord, type ImageEntry } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { withFailedTest } from './failed-tests.js';
import { imageNotes, newestPercent, nodeNote, withdrawnNote } from './notes.js';
import { afterLaunches, NEW_TRIAL, withTrial, type ImageTrial } from './trial.js';

const READY = { ready: 1, failed: 0 };
const FAILED = { ready: 0, failed: 1 };
const failed = (provider: string) =>
  afterLaunches(NEW_TRIAL, provider, { now: FAILED, before: READY, error: 'no boot' });
const ready = afterLaunches(NEW_TRIAL, 'sky', { now: READY, before: FAILED, error: null });

function image(trial: ImageTrial | undefined, pauseReason?: string): ImageEntry {
  const build = (id: string, ms: number) => newBuild({ image: 'debian', id }, { state: 'ready' }, ms);
  const builds = [build('a', 1_000), trial ? withTrial(build('b', 2_000), trial) : build('b', 2_000)];
  return {
    ...{ name: 'debian', paused: pauseReason !== undefined, pauseReason, buildRequestedMs: undefined },
    ...{ builds: new Map(builds.map((one): [string, BuildRecord] => [one.id, one])), uploads: new Map() },
  };
}

describe('what is said of an image', () => {
  it.each([
    ['without a trial', undefined, [], 100],
    ['in service', ready, [], 100],
    ['at the beginning', NEW_TRIAL, ['0 of its launches succeeded and 0 failed, of the build before it 0 and 0'], 0],
    ['after a failure', failed('sky'), ['0 of its launches succeeded and 1 failed, of the build before it 1 and 0'], 0],
  ])('says how its newest build stands: %s', (_, trial, counts, percent) => {
    const notes = counts.map((text) => `build b is tried out with one launch at a time; ${text}`);

    expect(imageNotes(image(trial))).toEqual(notes);
    expect(newestPercent(image(trial))).toBe(percent);
    expect(withdrawnNote(image(trial))).toBeUndefined();
  });

  it('states why its newest build is not in service', () => {
    const paused = image(undefined, 'build c was withdrawn: broken');
    const refused = image(failed('sky'));
    const raw = { canary: { refused: '3 of 3 launches failed' } };
    const former = { ...refused, builds: new Map([...refused.builds].map(([id, build]) => [id, { ...build, raw }])) };

    expect([withdrawnNote(paused), imageNotes(paused)]).toEqual([
      'build c was withdrawn: broken',
      ['paused: build c was withdrawn: broken'],
    ]);
    expect(withdrawnNote(former)).toMatch(
      /^build b is launched only where there is no other: 3 of 3 launches failed; 0 of/,
    );
  });

  it('names the providers where launches withdrew it, beside those where it failed its test', () => {
    const entry = image(failed('sea'));
    const tried = entry.builds.get('b') ?? expect.fail();
    const bad = withFailedTest(withFailedTest(tried, 'sea', '3 of 3 launches failed'), 'sky', 'no python');

    const found = { ...entry, builds: new Map([...entry.builds, ['b', bad]]) };

    expect(withdrawnNote(found)).toBe('build b was withdrawn in provider "sea": 3 of 3 launches failed');
    expect(imageNotes(found).slice(1)).toEqual([
      expect.stringMatching(
        /^build b was withdrawn in provider sea and is not uploaded there: 3 of 3 .* image-promote debian"$/,
      ),
      expect.stringMatching(
        /^build b failed its test in provider sky and is not uploaded there: no python; a new build/,
      ),
    ]);
  });

  it('reports a failed newest build until one is good again', () => {
    const failed = newBuild({ image: 'debian', id: 'c' }, { state: 'failed' }, 3_000);
    const after = (build: BuildRecord) => {
      const entry = image(undefined);
      return imageNotes({ ...entry, builds: new Map([...entry.builds, [build.id, build]]) });
    };

    expect(after({ ...failed, raw: { error: 'no such package' } })).toEqual(['build c has failed: no such package']);
    expect(after(failed)).toEqual(['build c has failed']);
    expect(after({ ...failed, stateTimeMs: 1_500 })).toEqual([]);
  });

  it('marks nodes that try it', () => {
    const images = new Map([['debian', image(NEW_TRIAL)]]);
    const node = (imageId: string) => newNode({ state: 'building', labels: [], imageId }, 0);
    const path = (build: string) => `/nodepool/images/debian/builds/${build}/providers/sky/images/0000000001`;

    expect(nodeNote(images, node(path('b')))).toContain('of image debian, whose build b is tried out with one launch');
    expect(nodeNote(images, node(path('a')))).toBeUndefined();
    expect(nodeNote(images, node('some-cloud-image'))).toBeUndefined();
  });
});
