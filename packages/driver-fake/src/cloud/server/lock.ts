import { spawnSync } from 'node:child_process';
import { existsSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isProcessRunning } from '@nodepool/core/config';

/**
 * Makes this process the only server of a directory. Takes over the lock of a dead process.
 * @returns unlock; `undefined` if another process holds the lock
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

/** Several processes may find the same dead owner. A process that moved the lock of a new owner away puts it back. */
function removeStale(lock: string, owner: number | undefined): boolean {
  const aside = `${lock}.${process.pid}.stale`;
  try {
    renameSync(lock, aside);
  } catch {
    return true; // Another process removed it; the link decides.
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
    return undefined; // no file: no server
  }
}

/** Name of the program on the command line of every server. */
const PROGRAM_NAME = 'nodepool-fake-cloud';

/**
 * Whether a process is the server of a cloud. Excludes zombies, and other programs that reuse the id of an old server.
 */
function isServerProcess(pid: number): boolean {
  return isProcessRunning(pid) && commandLineOf(pid).includes(PROGRAM_NAME);
}

function commandLineOf(pid: number): string {
  if (!existsSync('/proc/self/cmdline')) {
    return spawnSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout ?? '';
  }
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return ''; // ended in the meantime
  }
}
