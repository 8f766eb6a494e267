import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Index of the start time in `/proc/PID/stat`, counted from the state, which follows the name. */
const START_TIME = 19;
const OWNER = /^owner-(\d+)-(\d+)$/;

/** Name of the file that says which process uses a directory. The start time tells a process from a later one with its id. */
async function ownerName(pid: number): Promise<string | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    return `owner-${pid}-${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[START_TIME]}`;
  } catch {
    return undefined; // it does not run
  }
}

/** Marks a directory as used by this process. */
export async function ownDirectory(dir: string): Promise<void> {
  await writeFile(join(dir, (await ownerName(process.pid)) ?? ''), '');
}

/**
 * Takes over a directory whose owner has ended. Of several processes that try, one succeeds.
 * @returns whether it is ours now. A directory without an owner is of another program, or just being made
 */
export async function takeOverDirectory(dir: string): Promise<boolean> {
  const name = (await readdir(dir)).find((file) => OWNER.test(file));
  const pid = Number(OWNER.exec(name ?? '')?.[1]);
  if (name === undefined || (await ownerName(pid)) === name) return false;
  try {
    await rename(join(dir, name), join(dir, (await ownerName(process.pid)) ?? ''));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false; // another process was first
    throw error;
  }
}
