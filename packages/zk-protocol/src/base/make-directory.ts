import { mkdirSync, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Creates a directory and its parents, if they do not exist. Node's recursive `mkdir` loops forever on a file system that
 * reports ENOENT for the new directory, such as `/proc`.
 * @param mode - mode of each created directory
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

/** Synchronous {@link makeDirectory}. */
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

/** @returns false if the directory exists. @throws the error, if creating parents cannot help */
function mayLackParent(path: string, error: unknown): boolean {
  if (isDirectory(path)) return false;
  if (isNoEntry(error) && dirname(path) !== path) return true;
  throw error;
}

/** Handles an error after all parents exist. @throws the error, unless the directory exists */
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
