import { newBuild, newNode, type BuildRecord, type ImageEntry } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { afterLaunch, newCanary, withCanary, type Canary } from './trial.js';
import { canaryPercent, imageNotes, nodeNote, withdrawnNote } from './notes.js';

const BEGUN = newCanary({ launches: 5, stepMs: 3_600_000 }, 2_000);
const tried = (error?: string): Canary => afterLaunch(BEGUN, { node: '1', provider: 'sky', error }, 3_000);

function image(canary: Canary | undefined, pauseReason?: string): ImageEntry {
  const build = (id: string, ms: number) => newBuild({ image: 'debian', id }, { state: 'ready' }, ms);
  const builds = [build('a', 1_000), canary ? withCanary(build('b', 2_000), canary) : build('b', 2_000)];
  return {
    ...{ name: 'debian', paused: pauseReason !== undefined, pauseReason, buildRequestedMs: undefined },
    ...{ builds: new Map(builds.map((one): [string, BuildRecord] => [one.id, one])), uploads: new Map() },
  };
}

const COUNTS = 'of the build before it 0 and 0';

describe('what is said of an image', () => {
  it.each([
    ['in service', undefined, [], 100],
    [
      'at the beginning',
      BEGUN,
      [`build b is tried out with one launch at a time; 0 of its launches succeeded and 0 failed, ${COUNTS}`],
      0,
    ],
    [
      'after a success',
      tried(),
      [`build b is tried out with 5 % of the launches; 1 of its launches succeeded and 0 failed, ${COUNTS}`],
      5,
    ],
    [
      'after a failure',
      tried('no boot'),
      [
        'build b is held back until a launch of the build before it shows what its failure meant: no boot; ' +
          `0 of its launches succeeded and 0 failed, ${COUNTS}`,
      ],
      0,
    ],
  ])('says how its newest build stands: %s', (_, canary, notes, percent) => {
    expect(imageNotes(image(canary), 3_000)).toEqual(notes);
    expect(canaryPercent(image(canary), 3_000)).toBe(percent);
    expect(withdrawnNote(image(canary), 3_000)).toBeUndefined();
  });

  it('states why its newest build is not in service', () => {
    const refused = { ...BEGUN, refused: '3 of 3 launches failed' };

    expect(withdrawnNote(image(undefined, 'build c was withdrawn: broken'), 0)).toBe('build c was withdrawn: broken');
    expect(imageNotes(image(undefined, 'build c was withdrawn: broken'), 0)).toEqual([
      'paused: build c was withdrawn: broken',
    ]);
    expect(withdrawnNote(image(refused), 3_000)).toBe(
      'build b is launched only where there is no other: 3 of 3 launches failed; ' +
        `0 of its launches succeeded and 0 failed, ${COUNTS}`,
    );
    expect(canaryPercent(image(refused), 1e12)).toBe(0);
  });

  it('reports a failed newest build until one is good again', () => {
    const failed = newBuild({ image: 'debian', id: 'c' }, { state: 'failed' }, 3_000);
    const after = (build: BuildRecord) => {
      const entry = image(undefined);
      return imageNotes({ ...entry, builds: new Map([...entry.builds, [build.id, build]]) }, 5_000);
    };

    expect(after({ ...failed, raw: { error: 'no such package' } })).toEqual(['build c has failed: no such package']);
    expect(after(failed)).toEqual(['build c has failed']);
    expect(after({ ...failed, stateTimeMs: 1_500 })).toEqual([]);
  });

  it('marks nodes that try it', () => {
    const images = new Map([['debian', image(tried())]]);
    const node = (imageId: string) => newNode({ state: 'building', labels: [], imageId }, 0);
    const path = (build: string) => `/nodepool/images/debian/builds/${build}/providers/sky/images/0000000001`;

    expect(nodeNote(images, node(path('b')), 3_000)).toContain('of image debian, whose build b is tried out with 5 %');
    expect(nodeNote(images, node(path('a')), 3_000)).toBeUndefined();
    expect(nodeNote(images, node('some-cloud-image'), 3_000)).toBeUndefined();
  });
});
