import { execFile } from 'node:child_process';
import { appendFile, readdir, readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { NodepoolError } from '@nodepool/zk-protocol';

const run = promisify(execFile);

/** What diskimage-builder prints when it has attached a loop device. */
const ATTACHED = /Created loop +name \[[^\]]*\] device \[\/dev\/(?<device>loop\d+)\] image \[(?<file>.+)\]/;
/** In the directory of a build: the loop devices that it has attached, one a line. */
const NOTES = 'loop-devices';

/** A loop device while it has a backing file. */
interface Loop {
  readonly backingFile: string;
  /**
   * Names this attachment, and no other before or after it. Paths and inodes are no names: the path of a backing file changes
   * with the end of the mount namespace, and both are used again. `undefined` on a kernel before 5.15.
   */
  readonly attachment: string | undefined;
}

/**
 * Notes the loop device that a line of the build tool's output tells of, so that a later builder finds it, too.
 * @param directory - of the build
 * @param line - unmasked
 */
export async function noteLoop(directory: string, line: string): Promise<void> {
  const { device, file } = ATTACHED.exec(line)?.groups ?? {};
  if (device === undefined || file === undefined) return;
  const [loop, backingFile] = await Promise.all([readLoop(device), realpath(file).catch(() => undefined)]);
  // The line may be late: the device may be of another by now.
  if (loop?.attachment === undefined || loop.backingFile !== backingFile) return;
  await appendFile(join(directory, NOTES), `${loop.attachment}\n`, { mode: 0o600 });
}

/**
 * Detaches the loop devices that a build has left: those that were noted, and those with a backing file below its directory.
 * A device that is still mounted is detached with its last mount.
 * @throws NODEPOOL_ATTACHED with those that could not be detached
 */
export async function detachLoops(directory: string): Promise<void> {
  const failures = new Map<string, Error>();
  for (const device of await loopsOf(directory))
    await run('losetup', ['--detach', `/dev/${device}`]).catch((error: Error) => failures.set(device, error));
  if (failures.size === 0) return;
  // One that is gone was detached by another meanwhile.
  const left = (await loopsOf(directory)).filter((device) => failures.has(device));
  const [first] = left;
  if (first === undefined) return;
  const names = left.map((device) => `/dev/${device}`).join(', ');
  const message = `"${directory}" is not deleted: its build has left ${names} attached; detach with "losetup --detach"`;
  throw new NodepoolError('NODEPOOL_ATTACHED', message, { cause: failures.get(first) });
}

/** Names of the loop devices that a build has left. */
async function loopsOf(directory: string): Promise<string[]> {
  const notes = new Set((await readText(join(directory, NOTES)))?.split('\n'));
  const found: string[] = [];
  for (const device of (await readdir('/sys/block').catch(() => [])).filter((name) => /^loop\d+$/.test(name))) {
    const { attachment = '', backingFile = '' } = (await readLoop(device)) ?? {};
    const isOurs = (attachment !== '' && notes.has(attachment)) || backingFile.startsWith(`${directory}/`);
    if (isOurs) found.push(device);
  }
  return found;
}

/** @returns `undefined` for a device without a backing file */
async function readLoop(device: string): Promise<Loop | undefined> {
  const [file, sequence, boot] = await Promise.all([
    readText(`/sys/block/${device}/loop/backing_file`),
    readText(`/sys/block/${device}/diskseq`),
    readText('/proc/sys/kernel/random/boot_id'),
  ]);
  if (file === undefined) return undefined;
  const attachment = sequence === undefined || boot === undefined ? undefined : `${device} ${sequence} ${boot}`;
  return { backingFile: file, attachment };
}

const readText = (file: string): Promise<string | undefined> =>
  readFile(file, 'utf8').then(
    (text) => text.trimEnd(),
    () => undefined,
  );
