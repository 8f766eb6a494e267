import { execFile } from 'node:child_process';
import { appendFile, readdir, readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { NodepoolError } from '@nodepool/zk-protocol';

const run = promisify(execFile);

/** Output of diskimage-builder after attaching a loop device. */
const ATTACHED = /Created loop +name \[[^\]]*\] device \[\/dev\/(?<device>loop\d+)\] image \[(?<file>.+)\]/;
/** File in the build directory that lists its attached loop devices, one per line. */
const NOTES = 'loop-devices';

/** A loop device with a backing file. */
interface Loop {
  readonly backingFile: string;
  /**
   * Unique id of this attachment; `undefined` on kernels before 5.15. Paths and inodes are not unique: the path of a
   * backing file changes when the mount namespace ends, and the kernel reuses both.
   */
  readonly attachment: string | undefined;
}

/**
 * Records the loop device named in a line of tool output, so that a later builder can detach it.
 * @param directory - directory of the build
 * @param line - without masking
 */
export async function noteLoop(directory: string, line: string): Promise<void> {
  const { device, file } = ATTACHED.exec(line)?.groups ?? {};
  if (device === undefined || file === undefined) return;
  const [loop, backingFile] = await Promise.all([readLoop(device), realpath(file).catch(() => undefined)]);
  // The output may be delayed: another build may have attached the device since.
  if (loop?.attachment === undefined || loop.backingFile !== backingFile) return;
  await appendFile(join(directory, NOTES), `${loop.attachment}\n`, { mode: 0o600 });
}

/**
 * Detaches the loop devices of a build: recorded devices, and those with a backing file below its directory.
 * The kernel detaches a mounted device after its last unmount.
 * @throws NODEPOOL_ATTACHED with the devices that are still attached
 */
export async function detachLoops(directory: string): Promise<void> {
  const failures = new Map<string, Error>();
  for (const device of await loopsOf(directory))
    await run('losetup', ['--detach', `/dev/${device}`]).catch((error: Error) => failures.set(device, error));
  if (failures.size === 0) return;
  // Ignore devices that another process has detached since.
  const left = (await loopsOf(directory)).filter((device) => failures.has(device));
  const [first] = left;
  if (first === undefined) return;
  const names = left.map((device) => `/dev/${device}`).join(', ');
  const message = `"${directory}" is not deleted: its build has left ${names} attached; detach with "losetup --detach"`;
  throw new NodepoolError('NODEPOOL_ATTACHED', message, { cause: failures.get(first) });
}

/** Names of the loop devices that a build has attached. */
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

/** @returns `undefined` if the device has no backing file */
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
