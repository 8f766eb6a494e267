import { delay, imageBuildRequestPath } from '@nodepool/zk-protocol';
import type { BuildRecord, ImageEntry } from '@nodepool/zk-protocol';
import { buildLogFile, formatAge } from '@nodepool/core/service';
import { tell } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { fetchComponents, ifPresent } from '../connection/fetch-records.js';
import { Interrupts } from '../terminal/interrupts.js';
import { createFlag } from './create-flag.js';
import { LogTail } from './log-tail.js';
import { pausedHint } from './paused-hint.js';
import { withImages } from './with-images.js';
import type { StoredImages } from './with-images.js';

/** How often the log is looked at. */
const LOOK_MS = 300;
/** How often a build whose log is elsewhere is mentioned. */
const MENTION_MS = 10_000;

interface Followed {
  readonly image: string;
  /** Where builders of this machine write logs. */
  readonly logDir: string;
}

/**
 * Asks for a build and shows it: the log where the builder is on this machine, else how long it takes. Ctrl-C ends the
 * command, not the build.
 * @returns the exit status: 0 when the build is ready, else 1
 */
export async function followBuild(context: CliContext, followed: Followed): Promise<number> {
  const interrupts = new Interrupts();
  try {
    return await withImages(context, (stored) => follow(context, stored, followed, interrupts.signal));
  } catch (error) {
    if (!interrupts.signal.aborted) throw error;
    tell(`nodepool: the request stays; nodepool image-log ${followed.image} --follow shows the log of its build`);
    throw interrupts.signal.reason;
  } finally {
    interrupts.dispose();
  }
}

async function follow(
  context: CliContext,
  stored: StoredImages,
  { image, logDir }: Followed,
  signal: AbortSignal,
): Promise<number> {
  const entry = () => stored.images.get(image);
  const isServing = await ask(context, stored, image);
  const building = await waitFor(context, () => firstBuild(entry(), isServing), signal);
  tell(`Build ${building.id} of ${image} has begun on ${building.builder ?? 'an unknown builder'}`);
  const latest = () => entry()?.builds.get(building.id);
  const tail = new LogTail(buildLogFile(logDir, image, building.id), signal);
  try {
    await showUntilEnd(context, { tail, building, latest, signal });
  } finally {
    await tail.close();
  }
  return report(context, building, latest());
}

/** @returns which builds serve the request */
async function ask(
  context: CliContext,
  { zk, images }: StoredImages,
  image: string,
): Promise<(build: BuildRecord) => boolean> {
  const builds = [...(images.get(image)?.builds.values() ?? [])];
  const ended = new Set(builds.filter(({ state }) => state !== 'building').map(({ id }) => id));
  await createFlag(zk, imageBuildRequestPath(image));
  const requestedMs = (await ifPresent(zk.getData(imageBuildRequestPath(image))))?.stat.ctime ?? 0;
  if (images.get(image)?.paused === true) tell(pausedHint(image));
  if ((await fetchComponents({ ...context, zk }, 'builder')).length === 0) {
    tell('nodepool: no builder is registered, the build begins when one is started');
  }
  return ({ id, stat, stateTimeMs }) => !ended.has(id) && (stat?.ctime ?? stateTimeMs) >= requestedMs;
}

function firstBuild(
  entry: ImageEntry | undefined,
  isServing: (build: BuildRecord) => boolean,
): BuildRecord | undefined {
  const builds = [...(entry?.builds.values() ?? [])].filter(isServing);
  return builds.sort((a, b) => (a.stat?.ctime ?? 0) - (b.stat?.ctime ?? 0))[0];
}

async function waitFor<T>({ clock }: CliContext, find: () => T | undefined, signal: AbortSignal): Promise<T> {
  for (;;) {
    const found = find();
    if (found !== undefined) return found;
    await delay(clock, LOOK_MS, signal);
  }
}

interface Shown {
  readonly tail: LogTail;
  readonly building: BuildRecord;
  /** The record as it is now; `undefined`: gone. */
  readonly latest: () => BuildRecord | undefined;
  readonly signal: AbortSignal;
}

/** The record says that a build has ended after the last line of its log was written. */
async function showUntilEnd({ clock }: CliContext, { tail, building, latest, signal }: Shown): Promise<void> {
  let mentionMs = clock.now();
  for (; ; await delay(clock, LOOK_MS, signal)) {
    const isOver = latest()?.state !== 'building';
    const isHere = await tail.copyNew();
    if (isOver) return;
    if (isHere || clock.now() < mentionMs) continue;
    mentionMs = clock.now() + MENTION_MS;
    tell(`building for ${formatAge(clock.now() - building.stateTimeMs)}; the log is with ${building.builder ?? 'it'}`);
  }
}

function report({ clock }: CliContext, building: BuildRecord, latest: BuildRecord | undefined): number {
  const { image, id, stateTimeMs } = building;
  const took = formatAge(clock.now() - stateTimeMs);
  if (latest?.state === 'ready') {
    tell(`Build ${id} of ${image} is ready after ${took}: ${latest.formats.join(',')}`);
    return 0;
  }
  const error = latest?.raw['error'];
  const reason = typeof error === 'string' ? error : `its record is ${latest?.state ?? 'gone'}`;
  throw new CliError(`Build ${id} of ${image} failed after ${took}: ${reason}. Builders try again until it is built`);
}
