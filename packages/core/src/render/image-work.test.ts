import { describe, expect, it } from 'vitest';
import { imageWorkFromJson, imageWorkListing, imageWorkToText, type ImageWork } from './image-work.js';
import { listingToJson } from './listing.js';

const NOW = 1_000_000;
const build: ImageWork = {
  ...{ image: 'debian', buildId: 'a'.repeat(32), builder: 'nb01.example.com', provider: null },
  ...{ phase: 'root', startedMs: NOW - 65_000, sent: null, expectedMs: null, error: null },
};
const expected = { ...build, expectedMs: 130_000 };
const upload: ImageWork = {
  ...build,
  ...{ provider: 'sky', phase: 'uploading' },
  sent: { bytes: 52_428_800, totalBytes: 104_857_600, bytesPerSecond: 10_485_760, secondsLeft: 5 },
};

const failed = { ...upload, sent: null, phase: 'waiting', error: 'disk full' };

describe('work on images', () => {
  it('is shown as a line of text', () => {
    expect(imageWorkToText(build, NOW)).toBe('building on nb01.example.com for 00:00:01:05, phase root');
    expect(imageWorkToText(upload, NOW)).toBe(
      'uploading to sky from nb01.example.com for 00:00:01:05, 50 % of 100.0 MiB at 10.0 MiB/s, 5 s left',
    );
    expect(imageWorkToText(expected, NOW)).toMatch(/, phase root, about 50 % by the time the last build took$/);
    expect(imageWorkToText({ ...expected, expectedMs: 10_000 }, NOW)).toMatch(/about 99 %/);
    expect(imageWorkToText({ ...upload, sent: null, error: 'disk full' }, NOW)).toBe(
      'upload to sky from nb01.example.com failed and is tried again: disk full',
    );
    expect(imageWorkToText({ ...upload, sent: null, phase: 'hook' }, NOW)).toMatch(/, phase hook$/);
    expect(imageWorkToText({ ...build, buildId: '', phase: 'blocked', error: 'no worker is free' }, NOW)).toBe(
      'a build cannot begin on nb01.example.com, for 00:00:01:05: no worker is free',
    );
    expect(imageWorkToText({ ...upload, sent: null, phase: 'blocked', error: 'no file' }, NOW)).toBe(
      'the upload to sky cannot begin on nb01.example.com, for 00:00:01:05: no file',
    );
  });

  it('survives the JSON round trip to another process', () => {
    const json: unknown = JSON.parse(listingToJson(imageWorkListing, [build, upload, expected, failed], NOW));

    expect(imageWorkFromJson(json, NOW)).toEqual([build, upload, expected, failed]);
    expect(json).toMatchObject([
      { work: 'build', percent: null },
      { work: 'upload', percent: 50 },
      { work: 'build', percent: 50, expected: 130 },
      { work: 'upload', percent: null, error: 'disk full' },
    ]);
  });

  it('ignores invalid entries', () => {
    expect(imageWorkFromJson({ error: 'starting' }, NOW)).toEqual([]);
    expect(imageWorkFromJson([null, 'x', { image: 'debian' }, { ...upload, build_id: 7 }], NOW)).toEqual([]);
  });
});
