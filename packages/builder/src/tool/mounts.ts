import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { NodepoolError } from '@nodepool/zk-protocol';

const run = promisify(execFile);

/** Blanks and other odd characters stand as octal numbers in the kernel's table. */
const unescape = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_all, digits: string) => String.fromCharCode(parseInt(digits, 8)));

/**
 * Mount points below a directory, the directory itself included, deepest first: the order in which they can be unmounted.
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
 * Unmounts everything below the directory, deepest first, then deletes it. Deletes nothing while something is still mounted
 * there: builds bind the machine's own `/dev` below their directory.
 * @throws NODEPOOL_MOUNTED with what could not be unmounted
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
