import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeDirectory, makeDirectorySync } from './make-directory.js';

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'make-directory-'));
});
afterEach(() => {
  rmSync(base, { recursive: true, force: true });
});

describe.each([
  ['makeDirectory', makeDirectory],
  ['makeDirectorySync', (path: string, mode?: number) => Promise.resolve().then(() => makeDirectorySync(path, mode))],
] as const)('%s', (_, make) => {
  it('makes a directory with those above it, in the mode that is given', async () => {
    const path = join(base, 'a', 'b', 'c');

    await make(path, 0o700);

    expect(statSync(path).mode & 0o777).toBe(0o700);
    expect(statSync(join(base, 'a')).mode & 0o777).toBe(0o700);
  });

  it('is content with a directory that exists, also through a link', async () => {
    const link = join(base, 'link');
    symlinkSync(base, link);

    await Promise.all([make(base), make(link), make('/'), make(join(link, 'a', 'b')), make(join(base, 'a', 'b'))]);

    expect(statSync(join(base, 'a', 'b')).isDirectory()).toBe(true);
  });

  it('fails if the file system accepts no directories', async () => {
    for (const path of ['/proc/nodepool', '/proc/nodepool/state']) {
      await expect(make(path)).rejects.toThrow("ENOENT: /proc takes no new directories, mkdir '/proc/nodepool'");
    }
  });

  it('names the file in the way', async () => {
    const file = join(base, 'file');
    const dangling = join(base, 'dangling');
    writeFileSync(file, '');
    symlinkSync(join(base, 'gone'), dangling);

    await expect(make(file)).rejects.toThrow(`EEXIST: file already exists, mkdir '${file}'`);
    await expect(make(join(file, 'a'))).rejects.toThrow(`ENOTDIR: not a directory, mkdir '${join(file, 'a')}'`);
    await expect(make(join(dangling, 'a'))).rejects.toThrow(`EEXIST: file already exists, mkdir '${dangling}'`);
  });
});
