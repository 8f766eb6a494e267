import {
  newBuild,
  newUpload,
  uploadPath,
  type BuildRecord,
  type ImageEntry,
  type JsonObject,
} from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { isServing, pickUploads } from './pick-uploads.js';

const NOW_MS = 1_600_000_000_000;
type Made = readonly [buildId: string, uploadId: string, atMs: number, state?: 'ready' | 'deleting'];

/** An image with uploads in `sky`, in this order. */
function image(uploads: readonly Made[], builds: Readonly<Record<string, BuildRecord['state']>> = {}): ImageEntry {
  const made = uploads.map(([buildId, id, atMs, state = 'ready']) =>
    newUpload({ image: 'debian', buildId, provider: 'sky', id }, { state, externalId: `${buildId}${id}` }, atMs),
  );
  const known = made.map(({ buildId: id }) => {
    return [id, newBuild({ image: 'debian', id }, { state: builds[id] ?? 'ready' }, NOW_MS)] as const;
  });
  return {
    ...{ name: 'debian', paused: false, buildRequestedMs: undefined, builds: new Map(known) },
    uploads: new Map(made.map((one) => [uploadPath('debian', one.buildId, 'sky', one.id), one])),
  };
}

const serving = (entry: ImageEntry) =>
  [...entry.uploads.values()].flatMap((one) => (isServing(entry, one) ? [one.externalId] : []));

describe('of several ready uploads', () => {
  const cases: [string, ImageEntry, string][] = [
    [
      'the one that was completed last serves',
      image([
        ['a', '1', 5],
        ['b', '1', 7],
        ['c', '1', 6],
      ]),
      'b1',
    ],
    [
      'the one of the clock that is ahead serves, as in the original',
      image([
        ['a', '1', NOW_MS + 9],
        ['b', '1', NOW_MS],
      ]),
      'a1',
    ],
    [
      'of the same time the greater id serves, in any order',
      image([
        ['b', '1', 5],
        ['a', '2', 5],
      ]),
      'a2',
    ],
    [
      'of the same time and id the greater build serves',
      image([
        ['a', '1', 5],
        ['b', '1', 5],
      ]),
      'b1',
    ],
    [
      'one in deletion never serves',
      image([
        ['a', '1', 5],
        ['b', '1', 7, 'deleting'],
      ]),
      'a1',
    ],
    [
      'one of a build in deletion does not serve',
      image(
        [
          ['a', '1', 5],
          ['b', '1', 7],
        ],
        { b: 'deleting' },
      ),
      'a1',
    ],
    ['the last one serves also while its build is deleted', image([['b', '1', 7]], { b: 'deleting' }), 'b1'],
  ];
  it.each(cases)('%s', (_, entry, expected) => {
    expect(pickUploads(entry, 'sky')?.upload.externalId).toBe(expected);
    expect(serving(entry)).toEqual([expected]);
  });
});

describe('while a new build is on trial', () => {
  const entry = image([
    ['a', '1', 5],
    ['b', '1', 7],
  ]);
  const build = entry.builds.get('b') ?? expect.fail();
  const tried = (raw: JsonObject): ImageEntry => ({
    ...entry,
    builds: new Map([...entry.builds, ['b', { ...build, raw: { canary: raw } }]]),
  });

  it.each([
    ['both uploads serve', {}, ['a1', 'b1']],
    [
      'the new one serves alone once one of its nodes was ready there',
      { now: { sky: { ready: 1, failed: 2 } } },
      ['b1'],
    ],
    ['both serve where none was ready yet', { now: { sea: { ready: 1, failed: 0 } } }, ['a1', 'b1']],
    ['the old one serves alone once a former release refused the new one', { refused: 'does not boot' }, ['a1']],
  ])('%s', (_, raw, expected) => {
    expect(serving(tried(raw))).toEqual(expected);
  });

  it('of others the one that is in service there serves', () => {
    const three = image([
      ['a', '1', 5],
      ['b', '1', 7],
      ['c', '1', 9],
    ]);
    const raws: Record<string, JsonObject> = {
      b: { canary: { now: { sea: { ready: 1, failed: 0 } } } },
      c: { canary: {} },
    };
    const builds = [...three.builds].map(([id, one]) => [id, { ...one, raw: raws[id] ?? {} }] as const);

    expect(serving({ ...three, builds: new Map(builds) })).toEqual(['a1', 'c1']);
  });

  it('the new one serves where there is no other', () => {
    const alone = { ...tried({ refused: 'x' }), uploads: new Map([...entry.uploads].slice(1)) };

    expect(serving(alone)).toEqual(['b1']);
  });
});
