import { execFile } from 'node:child_process';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Logger } from '@nodepool/core';
import { NodepoolError } from '@nodepool/zk-protocol';
import { detachLoops } from './loops.js';

const run = promisify(execFile);

/**
 * Removes resources left by builds of a killed builder.
 * @param tmpRoot - parent of that builder's temporary directories
 */
export async function removeLeftovers(tmpRoot: string, logger: Logger): Promise<void> {
  for (const name of await readdir(tmpRoot)) await removeLeftoversOf(join(tmpRoot, name), logger);
}

/**
 * Removes resources left by one build: processes, loop devices, mounts and files. Failures are retried at the next
 * start of the builder.
 * @param directory - temporary directory of the build
 */
export async function removeLeftoversOf(directory: string, logger: Logger): Promise<void> {
  try {
    await killProcessesOf(directory);
    await detachLoops(directory);
    await unmountAndRemove(directory);
  } catch (error) {
    logger.error('Leftovers of a build cannot be removed', { directory, error });
  }
}

/** Decodes octal escapes of blanks and special characters in the kernel's mount table. */
const unescape = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_all, digits: string) => String.fromCharCode(parseInt(digits, 8)));

/**
 * Mount points in a directory, including the directory itself, deepest first, so that they can be unmounted in this order.
 * @param table - text of `/proc/self/mountinfo`
 */
export function mountsBelow(directory: string, table: string): string[] {
  const points = table
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => unescape(line.split(' ')[4] ?? ''));
  return points.filter((point) => point === directory || point.startsWith(`${directory}/`)).reverse();
}

const readTable = (): Promise<string> => readFile('/proc/self/mountinfo', 'utf8');

/**
 * Unmounts everything in the directory, deepest first, then deletes it. Builds bind-mount the host's `/dev` there, so
 * nothing is deleted while a mount remains.
 * @throws NODEPOOL_MOUNTED with the remaining mounts
 */
async function unmountAndRemove(directory: string): Promise<void> {
  for (const point of mountsBelow(directory, await readTable())) {
    await run('umount', ['--', point]).catch(() => run('umount', ['--lazy', '--', point]).catch(() => undefined));
  }
  const left = mountsBelow(directory, await readTable());
  if (left.length > 0) {
    throw new NodepoolError(
      'NODEPOOL_MOUNTED',
      `"${directory}" is not deleted: still mounted are ${left.join(', ')}; end what uses them and unmount them`,
    );
  }
  await rm(directory, { recursive: true, force: true });
}

/**
 * Finds processes that use this directory for temporary files, including those that have left their process group.
 * @returns process ids
 */
export async function processesOf(tmpDir: string): Promise<number[]> {
  const ids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(ids.map(async (id) => ((await hasTmpDir(id, tmpDir)) ? [id] : [])));
  return found.flat().filter((id) => id !== process.pid);
}

async function hasTmpDir(id: number, tmpDir: string): Promise<boolean> {
  try {
    const environment = await readFile(join('/proc', String(id), 'environ'), 'utf8');
    return environment.split('\0').includes(`TMPDIR=${tmpDir}`);
  } catch {
    return false; // Ended, or owned by another user and so not started by this builder.
  }
}

/** Kills these processes, and processes that they start in the meantime. */
async function killProcessesOf(tmpDir: string): Promise<void> {
  for (let round = 0; round < 10; round += 1) {
    const ids = await processesOf(tmpDir);
    if (ids.length === 0) return;
    for (const id of ids) kill(id);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function kill(id: number): void {
  try {
    process.kill(id, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
