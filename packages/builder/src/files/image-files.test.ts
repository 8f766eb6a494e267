import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { imageBase, listBuildFiles, removeBuildFiles } from './image-files.js';

let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'image-files-test-'));
});
afterEach(() => rm(dir, { recursive: true }));

describe('builds of two images with the same id', () => {
  it('have separate files, which are removed separately', async () => {
    const names = ['debian-0000000001.qcow2', 'fedora-0000000001.qcow2', 'fedora-0000000001.qcow2.md5'];
    for (const name of names) await writeFile(join(dir, name), 'x');

    const files = await listBuildFiles(dir);
    const debian = files.get(imageBase('debian', '0000000001'));
    if (debian) await removeBuildFiles(dir, debian);

    expect([...files.values()].map(({ image, names: own }) => [image, own.length])).toEqual([
      ['debian', 1],
      ['fedora', 2],
    ]);
    expect((await readdir(dir)).sort()).toEqual(names.slice(1));
  });
});
