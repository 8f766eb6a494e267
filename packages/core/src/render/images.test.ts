import { decodeBuild, decodeUpload, uploadPath, type ImageEntry } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { buildListing, buildsOf, imagesOf, imageStatusListing, uploadListing, uploadsOf } from './images.js';
import { listingToJson, listingToTable, toCell } from './listing.js';

const NOW_MS = 1_726_600_090_250;
const BUILD_ID = '5c14c8a6227f468a8c6d7b5734de7a92';
const BUILD =
  '{"state": "ready", "state_time": 1726600000.25, "builder": "nb01.example.com", "formats": "qcow2,raw", "username": "zuul"}';
const UPLOAD =
  '{"state": "ready", "state_time": 1726600000.25, "external_id": "9a8b", "external_name": "img1-1726600000", "format": "qcow2"}';

interface Facts {
  readonly buildIds?: readonly string[];
  readonly body?: string;
  readonly buildCreatedMs?: number;
}

function image(name: string, changes: Partial<ImageEntry> = {}, facts: Facts = {}): ImageEntry {
  const { buildIds = [], body = BUILD, buildCreatedMs = 0 } = facts;
  const stat = { version: 0, ctime: buildCreatedMs, mtime: 0, czxid: 1n, mzxid: 1n, ephemeralOwner: 0n };
  const builds = buildIds.flatMap((id) => {
    const build = decodeBuild({ image: name, id }, Buffer.from(body), stat as never, NOW_MS);
    return build ? [[id, build] as const] : [];
  });
  return { name, paused: false, buildRequestedMs: undefined, builds: new Map(builds), uploads: new Map(), ...changes };
}

const toMap = (...entries: ImageEntry[]) => new Map(entries.map((entry) => [entry.name, entry]));

describe('listings of images', () => {
  it('show builds, by image and build id', () => {
    const rows = buildsOf(toMap(image('b', {}, { buildIds: ['2', '10'] }), image('a', {}, { buildIds: [BUILD_ID] })));

    expect(rows.map(({ build }) => `${build.image} ${build.id}`)).toEqual([`a ${BUILD_ID}`, 'b 10', 'b 2']);
    expect(listingToJson(buildListing, rows.slice(0, 1), NOW_MS)).toBe(
      `[{"id": "a-${BUILD_ID}", "image": "a", "builder": "nb01.example.com", "formats": ["qcow2", "raw"], ` +
        '"state": "ready", "age": 1726600000}]',
    );
    expect(listingToTable(buildListing, rows.slice(1, 2), NOW_MS)).toBe(
      '+------+-------+------------------+-----------+-------+-------------+\n' +
        '| ID   | Image | Builder          | Formats   | State | Age         |\n' +
        '+------+-------+------------------+-----------+-------+-------------+\n' +
        '| b-10 | b     | nb01.example.com | qcow2,raw | ready | 00:00:01:30 |\n' +
        '+------+-------+------------------+-----------+-------+-------------+',
    );
  });

  it('show ids of builds whole in a narrow terminal, as commands take them', () => {
    const [row] = buildsOf(toMap(image('debian-12', {}, { buildIds: [BUILD_ID] })));
    const key = { image: 'debian-12', buildId: BUILD_ID, provider: 'sky', id: '0000000002' };
    const upload = decodeUpload(key, Buffer.from(UPLOAD), undefined, NOW_MS);

    const builds = listingToTable(buildListing, row ? [row] : [], NOW_MS, { width: 80 });
    const uploads = listingToTable(uploadListing, upload ? [upload] : [], NOW_MS, { width: 80 });

    expect(builds).toContain(`| debian-12-${BUILD_ID} | qcow2,raw | ready |`);
    expect(uploads).toContain(`| ${BUILD_ID} | sky `);
    for (const line of [builds, uploads].join('\n').split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });

  it('show the builds of a paused image as paused', () => {
    const rows = buildsOf(toMap(image('a', { paused: true }, { buildIds: ['1'] })));

    expect(listingToTable(buildListing, rows, NOW_MS, { fields: new Set(['state']) })).toContain('| paused |');
  });

  it('show uploads', () => {
    const key = { image: 'a', buildId: '1', provider: 'sky', id: '0000000002' };
    const upload = decodeUpload(key, Buffer.from(UPLOAD), undefined, NOW_MS);
    const uploads = new Map(upload ? [[uploadPath('a', '1', 'sky', '0000000002'), upload]] : []);

    expect(listingToJson(uploadListing, uploadsOf(toMap(image('a', { uploads }))), NOW_MS)).toBe(
      '[{"id": "1", "upload_id": "0000000002", "provider": "sky", "image": "a", ' +
        '"external_name": "img1-1726600000", "external_id": "9a8b", "state": "ready", "age": 1726600000}]',
    );
  });

  it.each([
    ['it was not asked for', undefined, BUILD, 0, null],
    ['a build that began before continues', 2_000, '{"state": "building"}', 1_000, 'pending'],
    ['a build that began after continues', 2_000, '{"state": "building"}', 3_000, 'building'],
    ['a build that began after has failed', 2_000, '{"state": "failed"}', 3_000, 'pending'],
  ])('say of a build request, when %s', (_case, buildRequestedMs, body, buildCreatedMs, expected) => {
    const entry = image('a', { buildRequestedMs }, { buildIds: ['1'], body, buildCreatedMs });

    const cells = imageStatusListing.map((column) => column.value(entry, NOW_MS));

    expect(cells).toEqual(['a', false, expected, buildRequestedMs === undefined ? null : 2]);
    expect(toCell(cells[1] ?? null)).toBe('False');
  });

  it('are sorted by name, and empty without images', () => {
    expect(imagesOf(toMap(image('b'), image('a'))).map(({ name }) => name)).toEqual(['a', 'b']);
    expect(listingToJson(uploadListing, uploadsOf(new Map()), NOW_MS)).toBe('[]');
  });
});
