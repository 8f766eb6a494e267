import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { delay } from '@nodepool/zk-protocol';
import { buildLogFile, parseBuildLogName } from '@nodepool/core/service';
import { loadConnectionConfig } from '../connection/config.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { Interrupts } from '../terminal/interrupts.js';
import { LogTail } from './log-tail.js';
import { withImages } from './with-images.js';

const LOOK_MS = 300;

/** A build, or the newest one of an image. */
export interface LogSubject {
  readonly name: string;
  readonly follow: boolean;
}

/** `nodepool image-log`: the log of a build made on this machine; with `follow` until the build ends. */
export async function showLog(context: CliContext, { name, follow }: LogSubject): Promise<void> {
  const { buildLogDir } = await loadConnectionConfig(context);
  const found = await findLog(context, buildLogDir, name);
  const interrupts = new Interrupts();
  const tail = new LogTail(found.file, interrupts.signal);
  try {
    if (!(await tail.copyNew())) throw await missing(context, buildLogDir, name);
    if (follow) await copyUntilEnd(context, tail, found, interrupts.signal);
    interrupts.signal.throwIfAborted();
  } finally {
    interrupts.dispose();
    await tail.close();
  }
}

interface FoundLog {
  readonly file: string;
  readonly image: string;
  readonly buildId: string;
}

/** Without ZooKeeper, so that logs can be read when something is broken. */
async function findLog(context: CliContext, logDir: string, name: string): Promise<FoundLog> {
  const named = parseBuildLogName(`${name}.log`);
  if (named) return { ...named, file: buildLogFile(logDir, named.image, named.buildId) };
  const logs = (await namesIn(logDir)).flatMap((file) => {
    const parsed = parseBuildLogName(file);
    return parsed?.image === name ? [{ ...parsed, file: join(logDir, file) }] : [];
  });
  const dated = await Promise.all(logs.map(async (log) => ({ log, ms: (await stat(log.file)).mtimeMs })));
  const newest = dated.sort((a, b) => b.ms - a.ms)[0];
  if (!newest) throw await missing(context, logDir, name);
  return newest.log;
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw new CliError(`Cannot read the logs of builds: ${(error as Error).message}`, { cause: error });
  }
}

/** Says where the log may be. */
async function missing(context: CliContext, logDir: string, name: string): Promise<CliError> {
  const text = `No log of ${name} is in ${logDir} of this machine`;
  const builders = await withImages(context, ({ images }) => {
    const builds = [...images.values()].flatMap((image) => [...image.builds.values()]);
    const named = builds.filter(({ image, id }) => image === name || `${image}-${id}` === name);
    return [...new Set(named.flatMap(({ builder }) => builder ?? []))].sort();
  });
  if (builders.length === 0) return new CliError(`${text}, and no builder has a build of it: see dib-image-list`);
  return new CliError(`${text}: it was built by ${builders.join(', ')}, ask there`);
}

function copyUntilEnd(context: CliContext, tail: LogTail, found: FoundLog, signal: AbortSignal): Promise<void> {
  return withImages(context, async ({ images }) => {
    for (;;) {
      const isOver = images.get(found.image)?.builds.get(found.buildId)?.state !== 'building';
      await tail.copyNew();
      if (isOver) return;
      await delay(context.clock, LOOK_MS, signal);
    }
  });
}
