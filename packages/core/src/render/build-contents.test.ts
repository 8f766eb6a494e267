import { describe, expect, it } from 'vitest';
import {
  buildContentsFromJson,
  buildContentsToJson,
  compareContents,
  contentsChangeListing,
  type BuildContents,
} from './build-contents.js';
import { listingToTable } from './listing.js';

const before: BuildContents = {
  sizes: { qcow2: 104_857_600, raw: 209_715_200 },
  packages: { bash: '5.2', gone: '1', same: '3', constructor: '1' },
  repositories: { pip: 'abc' },
};
const after: BuildContents = {
  sizes: { qcow2: 115_343_360, vhd: 1_048_576 },
  packages: { bash: '5.3', same: '3', fresh: '2', constructor: '1' },
  repositories: null,
};

describe('the contents of two builds', () => {
  it('are compared by sizes and differing entries, omitting lists that only one build has', () => {
    expect(compareContents(before, after)).toEqual([
      { kind: 'size', name: 'qcow2', before: 104_857_600, after: 115_343_360 },
      { kind: 'size', name: 'raw', before: 209_715_200, after: null },
      { kind: 'size', name: 'vhd', before: null, after: 1_048_576 },
      { kind: 'package', name: 'bash', before: '5.2', after: '5.3' },
      { kind: 'package', name: 'fresh', before: null, after: '2' },
      { kind: 'package', name: 'gone', before: '1', after: null },
    ]);
  });

  it('are shown as a table', () => {
    const table = listingToTable(contentsChangeListing, compareContents(before, after), 0);
    expect(table).toMatch(/\| size +\| qcow2 +\| 100.0 MiB +\| 110.0 MiB +\| \+10.0 MiB \(\+10.0 %\) +\|/);
    expect(table).toMatch(/\| package +\| gone +\| 1 +\| +\| removed +\|/);
    expect(table).toMatch(/\| package +\| fresh +\| +\| 2 +\| added +\|/);
  });

  it('survive a JSON round trip, and invalid input is rejected', () => {
    expect(buildContentsFromJson(JSON.parse(buildContentsToJson(after)))).toEqual(after);
    expect(buildContentsFromJson({ sizes: { raw: 1, odd: 'x' }, packages: { a: 1, b: '2' } })).toEqual({
      sizes: { raw: 1 },
      packages: { b: '2' },
      repositories: null,
    });
    for (const odd of [undefined, null, 'page', [], {}, { sizes: [1] }])
      expect(buildContentsFromJson(odd)).toBeUndefined();
  });
});
