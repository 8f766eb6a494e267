import { mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ownDirectory, takeOverDirectory } from './owner.js';

async function directory(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'np-owner-'));
  onTestFinished(() => rm(dir, { recursive: true }));
  return dir;
}

it('leaves the directory of a running process alone, and one that no process has marked', async () => {
  const [used, foreign] = [await directory(), await directory()];
  await ownDirectory(used);

  expect(await takeOverDirectory(used)).toBe(false);
  expect(await takeOverDirectory(foreign)).toBe(false);
});

it.each([
  ['a process that has ended', `owner-${2 ** 22 + 1}-1`],
  ['an earlier process with the id of this one', `owner-${process.pid}-1`],
])('takes over the directory of %s, once', async (_, owner) => {
  const dir = await directory();
  await ownDirectory(dir);
  const [own = ''] = await readdir(dir);
  await rename(join(dir, own), join(dir, owner));

  const taken = await Promise.all([takeOverDirectory(dir), takeOverDirectory(dir), takeOverDirectory(dir)]);

  expect(taken.filter(Boolean)).toHaveLength(1);
  expect(await readdir(dir)).toEqual([own]);
});
