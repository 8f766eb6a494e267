import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { NodepoolError } from '@nodepool/zk-protocol';

const run = promisify(execFile);

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
export async function unmountAndRemove(directory: string): Promise<void> {
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
