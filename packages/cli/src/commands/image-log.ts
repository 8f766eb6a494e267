import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { buildLogFile, parseBuildLogName } from '@nodepool/core/service';
import { delay } from '@nodepool/zk-protocol';
import type { BuildRecord } from '@nodepool/zk-protocol';
import { defineCommand, flag, text } from '../command/command.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { loadConnectionConfig } from '../connection/config.js';
import { LogTail } from '../images/log-tail.js';
import type { Tail } from '../images/log-tail.js';
import { RemoteLogTail } from '../images/remote-log-tail.js';
import { withImages } from '../images/with-images.js';
import type { StoredImages } from '../images/with-images.js';
import { Interrupts } from '../terminal/interrupts.js';

/** `nodepool image-log`. */
export const command = defineCommand({
  positionals: {
    build: { type: 'string', demandOption: true, describe: 'id of a build, or name of an image for its newest build' },
  },
  options: {
    follow: { type: 'boolean', alias: 'f', default: false, describe: 'follow the log until the build ends' },
  },
  parse: (values) => ({ name: text(values, 'build') ?? '', follow: flag(values, 'follow') }),
  run: showLog,
});

const LOOK_MS = 300;

/** A build, or the newest one of an image. */
interface LogSubject {
  readonly name: string;
  readonly follow: boolean;
}

/** `nodepool image-log`: the log of a build, of this machine or from its builder; with `follow` until the build ends. */
async function showLog(context: CliContext, { name, follow }: LogSubject): Promise<void> {
  const { buildLogDir, apiTokens } = await loadConnectionConfig(context);
  const interrupts = new Interrupts();
  try {
    const found = await findLog(buildLogDir, name);
    const tail = found && new LogTail(found.file, interrupts.signal);
    try {
      if (!found || !tail || !(await tail.copyNew())) {
        await showRemote(context, { buildLogDir, token: apiTokens[0]?.token, name, follow }, interrupts.signal);
      } else if (follow) {
        await withImages(context, ({ images }) => copyUntilEnd(context, tail, { ...found, images }, interrupts.signal));
      }
    } finally {
      await tail?.close();
    }
    interrupts.signal.throwIfAborted();
  } finally {
    interrupts.dispose();
  }
}

interface NamedBuild {
  readonly image: string;
  readonly buildId: string;
}

/** Settings for reading logs. */
interface RemoteAccess {
  readonly buildLogDir: string;
  readonly token: string | undefined;
}

/** Shows a log of a builder on another machine. */
function showRemote(
  context: CliContext,
  { buildLogDir, token, name, follow }: LogSubject & RemoteAccess,
  signal: AbortSignal,
): Promise<void> {
  return withImages(context, async ({ zk, images }) => {
    const build = newestBuild(images, name);
    const tail = build && new RemoteLogTail({ ...context, zk }, { build: `${build.image}-${build.id}`, token }, signal);
    if (!build || !tail || !(await tail.copyNew())) throw missing(images, buildLogDir, name);
    if (follow) await copyUntilEnd(context, tail, { image: build.image, buildId: build.id, images }, signal);
  });
}

/** The newest build of an image, or the one that is named. */
function newestBuild(images: StoredImages['images'], name: string): BuildRecord | undefined {
  const named = buildsNamed(images, name);
  return named.sort((a, b) => (b.stat?.ctime ?? b.stateTimeMs) - (a.stat?.ctime ?? a.stateTimeMs))[0];
}

function buildsNamed(images: StoredImages['images'], name: string): BuildRecord[] {
  const builds = [...images.values()].flatMap((image) => [...image.builds.values()]);
  return builds.filter(({ image, id }) => image === name || `${image}-${id}` === name || id === name);
}

/** Without ZooKeeper, so that logs can be read when something is broken. */
async function findLog(logDir: string, name: string): Promise<(NamedBuild & { readonly file: string }) | undefined> {
  const named = parseBuildLogName(`${name}.log`);
  if (named) return { ...named, file: buildLogFile(logDir, named.image, named.buildId) };
  const logs = (await namesIn(logDir)).flatMap((file) => {
    const parsed = parseBuildLogName(file);
    return parsed?.image === name ? [{ ...parsed, file: join(logDir, file) }] : [];
  });
  const dated = await Promise.all(logs.map(async (log) => ({ log, ms: (await stat(log.file)).mtimeMs })));
  return dated.sort((a, b) => b.ms - a.ms)[0]?.log;
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EACCES') return [];
    throw new CliError(`Cannot read the logs of builds: ${(error as Error).message}`, { cause: error });
  }
}

/** The error for a missing log, with the places where it may be. */
function missing(images: StoredImages['images'], logDir: string, name: string): CliError {
  const text = `No log of ${name} that you may read is in ${logDir} of this machine`;
  const builders = [...new Set(buildsNamed(images, name).flatMap(({ builder }) => builder ?? []))].sort();
  if (builders.length === 0) return new CliError(`${text}, and no builder has a build of it: see dib-image-list`);
  return new CliError(
    `${text}, and no builder has answered with it: it was built by ${builders.join(', ')}. Look in the build-log-dir there, ` +
      'or let that builder answer on an address that can be reached from here, with builder-webapp in its configuration',
  );
}

async function copyUntilEnd(
  context: CliContext,
  tail: Tail,
  { image, buildId, images }: NamedBuild & Pick<StoredImages, 'images'>,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const isOver = images.get(image)?.builds.get(buildId)?.state !== 'building';
    await tail.copyNew(isOver);
    if (isOver) return;
    await delay(context.clock, LOOK_MS, signal);
  }
}
