import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { replaceFile } from './replace-file.js';

let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'replace-file-'));
});
afterEach(() => rm(dir, { recursive: true }));

describe('replaceFile', () => {
  it('replaces the file with its mode, and leaves no draft', async () => {
    const file = join(dir, 'file');
    await writeFile(file, 'old');

    await replaceFile(file, 'new', 0o600);

    expect(await readFile(file, 'utf8')).toBe('new');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readdir(dir)).toEqual(['file']);
  });

  it('replaces links in place of the file and of its draft instead of following them', async () => {
    const [file, theirs] = [join(dir, 'file'), join(dir, 'theirs')];
    await writeFile(theirs, 'theirs');
    await symlink(theirs, file);
    await symlink(theirs, `${file}.${process.pid}`);

    await replaceFile(file, 'new');

    expect([await readFile(file, 'utf8'), await readFile(theirs, 'utf8')]).toEqual(['new', 'theirs']);
  });
});
