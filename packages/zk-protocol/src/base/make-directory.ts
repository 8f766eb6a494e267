import { mkdirSync, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a directory with those above it; one that exists is fine. Node's own recursive `mkdir` tries without end where a
 * file system says that there is no such directory as the one to be made, as `/proc` does.
 * @param mode - of each directory that is made
 * @throws the operating system's error, with its `code`
 */
export async function makeDirectory(path: string, mode?: number): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (first) {
    if (!mayLackParent(path, first)) return;
    await makeDirectory(dirname(path), mode);
    await mkdir(path, { mode }).catch((error: unknown) => judgeSecond(path, error));
  }
}

/** {@link makeDirectory} for those who cannot wait. */
export function makeDirectorySync(path: string, mode?: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (first) {
    if (!mayLackParent(path, first)) return;
    makeDirectorySync(dirname(path), mode);
    try {
      mkdirSync(path, { mode });
    } catch (error) {
      judgeSecond(path, error);
    }
  }
}

/** `false` when the directory exists. @throws the error, when making those above it cannot help */
function mayLackParent(path: string, error: unknown): boolean {
  if (isDirectory(path)) return false;
  if (isNoEntry(error) && dirname(path) !== path) return true;
  throw error;
}

/** A try with all directories above in place. @throws the error, unless the directory exists */
function judgeSecond(path: string, error: unknown): void {
  if (isDirectory(path)) return;
  if (!isNoEntry(error)) throw error;
  const message = `ENOENT: ${dirname(path)} takes no new directories, mkdir '${path}'`;
  throw Object.assign(new Error(message, { cause: error }), { code: 'ENOENT' });
}

function isNoEntry(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
