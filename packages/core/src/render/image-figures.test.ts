import { decodeBuild, decodeUpload, type BuildRecord, type ImageEntry, type UploadRecord } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { buildReasonOf, durationOf, isTested, sizesOf } from './image-figures.js';
import { extendedBuildListing, extendedUploadListing } from './images.js';
import { listingToTable } from './listing.js';

const body = (extra: object) => Buffer.from(JSON.stringify({ state: 'ready', state_time: 1, ...extra }));
const build = (extra: object) => decodeBuild({ image: 'a', id: '1' }, body(extra), undefined, 0) as BuildRecord;
const upload = (extra: object) =>
  decodeUpload({ image: 'a', buildId: '1', provider: 'sky', id: '1' }, body(extra), undefined, 0) as UploadRecord;

const FULL = build({
  ...{ build_reason: 'too old', duration: 754 },
  files: { qcow2: { bytes: 805_306_368, md5: null }, raw: { bytes: 2_147_483_648 }, odd: 7 },
});

it('reads what builders have noted of builds and uploads', () => {
  expect([buildReasonOf(FULL), durationOf(FULL), sizesOf(FULL)]).toEqual([
    'too old',
    754,
    { qcow2: 805_306_368, raw: 2_147_483_648 },
  ]);
  expect([isTested(upload({ tested: true })), durationOf(upload({ duration: 3 }))]).toEqual([true, 3]);
});

it('has nothing for records of the original', () => {
  expect([buildReasonOf(build({})), durationOf(build({})), sizesOf(build({}))]).toEqual([null, null, null]);
  expect([isTested(upload({})), durationOf(upload({}))]).toEqual([null, null]);
});

it('is shown in lists on request, in units for people', () => {
  const fields = new Set(['reason', 'duration', 'sizes', 'tested']);
  const builds = listingToTable(extendedBuildListing, [{ build: FULL, paused: false }], 0, { fields });
  const uploads = [upload({ tested: true, duration: 60 }), upload({ tested: false }), upload({})];
  const image = { paused: false, buildRequestedMs: undefined, builds: new Map(), uploads: new Map() };
  const entry: ImageEntry = { name: 'a', ...image };
  const rows = uploads.map((one) => ({ ...one, entry }));

  expect(builds).toContain('| too old | 00:00:12:34 | qcow2: 768.0 MiB, raw: 2048.0 MiB |');
  expect(listingToTable(extendedUploadListing, rows, 0, { fields })).toMatch(
    /\| 00:00:01:00 \| tested +\|\n\| +\| untested \|\n\| +\| +\|/,
  );
});
