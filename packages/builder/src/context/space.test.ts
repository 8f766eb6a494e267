import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { freeBytes, SpaceBook } from './space.js';

let directory: string;
let book: SpaceBook;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nodepool-space-'));
  book = new SpaceBook(directory, directory);
});
afterEach(() => rm(directory, { recursive: true }));

it('has no objection to a first build while the minimum is free', async () => {
  expect(await freeBytes(directory)).toBeGreaterThan(64 * 1024 * 1024);
  expect(await book.shortage('debian')).toBeUndefined();
});

it('objects if a tenth more than the last build took is not free, for this image alone', async () => {
  const free = await freeBytes(directory);
  await book.learn('debian', { imagesBytes: 1, tmpBytes: free * 2 });

  expect(await book.shortage('debian')).toMatch(
    /^".*" has \d+ MiB free, and the build needs \d+ MiB: \d+ MiB are missing$/,
  );
  expect(await book.shortage('fedora')).toBeUndefined();
});

it('states numbers that add up', async () => {
  const mebibyte = 1024 * 1024;
  const needed = 2 * Math.ceil((await freeBytes(directory)) / mebibyte);
  await book.learn('debian', { imagesBytes: Math.floor((needed * mebibyte) / 1.1), tmpBytes: 1 });
  const [has = 0, needs = 0, missing] =
    ((await book.shortage('debian')) ?? '').match(/\d+(?= MiB)/g)?.map(Number) ?? [];

  expect([needs, missing]).toEqual([needed, needs - has]);
});

it('remembers several images across restarts, and replaces earlier values', async () => {
  const free = await freeBytes(directory);
  await book.learn('debian', { imagesBytes: free * 2, tmpBytes: 1 });
  await book.learn('fedora', { imagesBytes: free * 2, tmpBytes: 1 });
  await book.learn('debian', { imagesBytes: 1, tmpBytes: 1 });
  const later = new SpaceBook(directory, directory);

  expect([await later.shortage('debian'), typeof (await later.shortage('fedora'))]).toEqual([undefined, 'string']);
  expect(await readdir(directory)).toEqual(['build_space.json']);
});

it.each(['{', '[]', '{"debian": 7}', '{"debian": {"imagesBytes": "many"}}'])(
  'ignores a damaged file: %s',
  async (text) => {
    await writeFile(join(directory, 'build_space.json'), text);

    expect(await book.shortage('debian')).toBeUndefined();
  },
);

it('fails for a directory that does not exist', async () => {
  await expect(new SpaceBook('/no/such/directory', directory).shortage('debian')).rejects.toMatchObject({
    code: 'ENOENT',
  });
});
