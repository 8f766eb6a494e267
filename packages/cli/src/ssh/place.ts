import type { Stats } from 'node:fs';
import { lstat, mkdtemp, readdir, realpath, rename, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';

async function look(path: string): Promise<Stats | undefined> {
  return lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}

/**
 * Makes a new directory that only this user can enter, on the file system of a target: in it if it is a directory, otherwise beside it.
 * @returns its path without links
 */
export async function directoryFor(base: string, name: string): Promise<string> {
  const target = join(await realpath(base), name);
  const isDirectory = (await look(target))?.isDirectory() === true;
  return mkdtemp(join(isDirectory ? target : await realpath(base), '.nodepool-fetch-'));
}

/**
 * Moves a file or directory to a place. A link there is replaced, not followed; files of a directory that is there are kept, unless
 * new ones have their names.
 */
export async function moveTo(target: string, from: string): Promise<void> {
  const [moved, there] = await Promise.all([lstat(from), look(target)]);
  if (moved.isDirectory() && there?.isDirectory()) {
    for (const name of await readdir(from)) await moveTo(join(target, name), join(from, name));
    return;
  }
  if (moved.isDirectory() && there) await unlink(target);
  await rename(from, target);
}

/** Removes a directory and all in it. */
export const removeDirectory = (directory: string): Promise<void> => rm(directory, { recursive: true, force: true });
