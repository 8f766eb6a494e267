import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { checkSharedPlace, delay, makeDirectory, NodepoolError } from '@nodepool/zk-protocol';
import type { Clock } from '@nodepool/zk-protocol';
import { isProcessRunning } from '@nodepool/core/config';
import { processIdentity } from './process-identity.js';

const RETRY_MS = 100;
/** How long a starting daemon waits for its predecessor to end. */
export const PID_FILE_WAIT_MS = 10_000;

/** A pid file that is ours. */
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
 * When the process of a pid file was started stands in a file beside it: what reads the pid file, such as
 * `kill $(cat FILE)`, expects one number.
 */
function startFileOf(file: string): string {
  return `${file}.start`;
}

/** Whether the process is known to be another one than that which wrote the file. */
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

/** Puts a broken file aside. When another process has just replaced it by its own, that one is put back. */
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

/** A new file, whatever has its name: a link that somebody has put there is removed, not followed. */
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
 * @param onWait - told at once which process holds it
 * @throws NODEPOOL_PID_FILE when one still does after the given time
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
  checkSharedPlace(dirname(file), 'choose another file with -p');
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
 * Takes the file for this process; one left by a process that no longer runs is broken.
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
