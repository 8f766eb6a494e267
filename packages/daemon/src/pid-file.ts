import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { checkServiceFile, delay, makeDirectory, NodepoolError } from '@nodepool/zk-protocol';
import type { Clock } from '@nodepool/zk-protocol';
import { isProcessRunning } from '@nodepool/core/config';

const RETRY_MS = 100;
/** How long a starting daemon waits for its predecessor to end. */
export const PID_FILE_WAIT_MS = 10_000;

/** A pid file held by this process. */
export interface PidFile {
  /** Removes the file, unless another process has taken it over. */
  release(): Promise<void>;
}

async function readIfPresent(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * A second file beside the pid file holds the start time of the process, because readers of the pid file, such as
 * `kill $(cat FILE)`, expect a single number.
 */
function startFileOf(file: string): string {
  return `${file}.start`;
}

/** Whether the process is certainly not the one that wrote the file. */
async function isRecycled(file: string, pid: number): Promise<boolean> {
  const [writtenPid, ...identity] = ((await readIfPresent(startFileOf(file))) ?? '').trim().split(' ');
  if (writtenPid !== String(pid)) return false;
  const present = await processIdentity(pid);
  return present !== undefined && present !== identity.join(' ');
}

/**
 * The running process that holds the file; `undefined` when it may be taken.
 * @throws NODEPOOL_PID_FILE when the file cannot be read
 */
export async function pidFileHolder(file: string): Promise<number | undefined> {
  const text = await readIfPresent(file).catch((error: unknown) => Promise.reject(unusable(file, error)));
  const pid = Number(text?.trim());
  if (!Number.isInteger(pid) || pid <= 0 || pid === process.pid || !isProcessRunning(pid)) return undefined;
  return (await isRecycled(file, pid)) ? undefined : pid;
}

/** Removes a stale file. If another process has just replaced it by its own, restores that one. */
async function removeBroken(file: string): Promise<void> {
  const aside = `${file}.broken.${process.pid}`;
  try {
    await rename(file, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  const pid = Number((await readIfPresent(aside))?.trim());
  const isLive = pid > 0 && pid !== process.pid && isProcessRunning(pid) && !(await isRecycled(file, pid));
  if (isLive) await link(aside, file);
  await rm(aside, { force: true });
}

/** Creates a new file. Removes an existing file or link of that name instead of following it. */
async function writeNew(file: string, text: string): Promise<void> {
  await rm(file, { force: true });
  await writeFile(file, text, { flag: 'wx', mode: 0o644 });
}

/** Linking a complete file is atomic: the pid file is never seen empty. */
async function tryTake(file: string, pid: number): Promise<boolean> {
  const temporary = `${file}.${pid}`;
  await writeNew(temporary, `${pid}\n`);
  try {
    await link(temporary, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Complete at once for those who read it. */
async function rememberStart(file: string, pid: number): Promise<void> {
  const identity = await processIdentity(pid);
  if (identity === undefined) return;
  const temporary = `${startFileOf(file)}.${pid}`;
  await writeNew(temporary, `${pid} ${identity}\n`);
  await rename(temporary, startFileOf(file));
}

function unusable(file: string, cause: unknown): NodepoolError {
  if (cause instanceof NodepoolError) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  const message = `pid file ${file} cannot be used: ${reason}; choose another file with -p`;
  return new NodepoolError('NODEPOOL_PID_FILE', message, { cause });
}

function holderError(file: string, pid: number): NodepoolError {
  return new NodepoolError(
    'NODEPOOL_PID_FILE',
    `pid file ${file} belongs to process ${pid}, which is running: stop it, or choose another file with -p`,
  );
}

/**
 * Waits until no running process holds the file.
 * @param onWait - called with the id of the process that holds it, before waiting
 * @throws NODEPOOL_PID_FILE if a process still holds it after the given time
 */
export async function waitForPidFile(
  file: string,
  clock: Clock,
  onWait: (pid: number) => void,
  waitMs = PID_FILE_WAIT_MS,
): Promise<void> {
  const deadlineMs = clock.now() + waitMs;
  for (let isFirst = true; ; isFirst = false) {
    const holder = await pidFileHolder(file);
    if (holder === undefined) return;
    if (clock.now() >= deadlineMs) throw holderError(file, holder);
    if (isFirst) onWait(holder);
    await delay(clock, RETRY_MS);
  }
}

async function take(file: string): Promise<void> {
  checkServiceFile(dirname(file), 'choose another file with -p, such as /run/nodepool.pid');
  await makeDirectory(dirname(file));
  for (;;) {
    if (await tryTake(file, process.pid)) break;
    const holder = await pidFileHolder(file);
    if (holder !== undefined) throw holderError(file, holder);
    await removeBroken(file);
  }
  await rememberStart(file, process.pid);
}

/**
 * Takes the file for this process. Replaces a stale file of a process that no longer runs.
 * @throws NODEPOOL_PID_FILE when a running process holds it, or the file cannot be written
 */
export async function takePidFile(file: string): Promise<PidFile> {
  try {
    await take(file);
  } catch (error) {
    throw unusable(file, error);
  }
  return {
    async release() {
      if ((await readIfPresent(file))?.trim() !== String(process.pid)) return;
      await rm(startFileOf(file), { force: true });
      await rm(file, { force: true });
    },
  };
}

const BOOT_ID = '/proc/sys/kernel/random/boot_id';
/** Index in `/proc/PID/stat`, counted from the end of the process name, which may contain spaces. */
const START_TIME = 19;

/**
 * Distinguishes a process from a later one with the same id, by the boot id and the start time in ticks of a monotonic clock.
 * `undefined` if the process is not running, or on systems other than Linux.
 */
export async function processIdentity(pid: number): Promise<string | undefined> {
  try {
    const [boot, stat] = await Promise.all([readFile(BOOT_ID, 'utf8'), readFile(`/proc/${pid}/stat`, 'utf8')]);
    const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[START_TIME];
    return started === undefined ? undefined : `${boot.trim()} ${started}`;
  } catch {
    return undefined; // Without it a running process of this id is taken for the one that is meant.
  }
}
