import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isServerProcess } from './server-process.js';

/**
 * Makes this process the only server of a directory. What a killed one left is taken over.
 * @returns how to give it up; `undefined` when another process has it
 */
export function lockCloudDir(dir: string): (() => void) | undefined {
  const lock = join(dir, 'server.pid');
  const mine = `${lock}.${process.pid}`;
  writeFileSync(mine, String(process.pid), { mode: 0o600 });
  try {
    if (!tryLink(mine, lock)) {
      const owner = readPid(lock);
      if (owner !== undefined && owner !== process.pid && isServerProcess(owner)) return undefined;
      if (!removeStale(lock, owner) || !tryLink(mine, lock)) return undefined;
    }
  } finally {
    rmSync(mine, { force: true });
  }
  return () => {
    if (readPid(lock) === process.pid) rmSync(lock, { force: true });
  };
}

/** Two may find the same dead owner: whoever moved the lock of a third away puts it back. */
function removeStale(lock: string, owner: number | undefined): boolean {
  const aside = `${lock}.${process.pid}.stale`;
  try {
    renameSync(lock, aside);
  } catch {
    return true; // Another process has removed it; the link decides.
  }
  const isStale = readPid(aside) === owner;
  if (!isStale) tryLink(aside, lock);
  rmSync(aside, { force: true });
  return isStale;
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

function readPid(file: string): number | undefined {
  try {
    const pid = Number(readFileSync(file, 'utf8'));
    return Number.isInteger(pid) && pid > 0 ? pid : undefined;
  } catch {
    return undefined; // No file: no server.
  }
}
