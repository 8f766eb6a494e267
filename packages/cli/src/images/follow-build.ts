import { delay } from '@nodepool/zk-protocol';
import type { BuildRecord, ImageEntry, ZooKeeper } from '@nodepool/zk-protocol';
import { buildLogFile, formatAge, lastBuildMs } from '@nodepool/core/service';
import { inform } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { Interrupts } from '../terminal/interrupts.js';
import { findBlocks, orderBuild } from './order-build.js';
import { BuildLogTail } from './remote-log-tail.js';
import { withImages } from './with-images.js';
import type { StoredImages } from './with-images.js';

/** Polling interval of the log. */
const LOOK_MS = 300;
/** Interval of progress lines for a build without a readable log. */
const MENTION_MS = 10_000;
/** Delay of the first progress line: a new log appears a moment later. */
const FIRST_MENTION_MS = 4_000;

interface Followed {
  readonly image: string;
  /** Where builders of this machine write logs. */
  readonly logDir: string;
  /** For builders that demand one. */
  readonly token: string | undefined;
}

/**
 * Requests a build and shows its log, read on this machine or from its builder, or else its progress. Ctrl-C ends the command,
 * not the build.
 * @returns the exit status: 0 when the build is ready, else 1
 */
export async function followBuild(context: CliContext, followed: Followed): Promise<number> {
  const interrupts = new Interrupts();
  try {
    return await withImages(context, (stored) => follow(context, stored, followed, interrupts.signal));
  } catch (error) {
    if (!interrupts.signal.aborted) throw error;
    inform(`nodepool: the request stays; nodepool image-log ${followed.image} --follow shows the log of its build`);
    throw interrupts.signal.reason;
  } finally {
    interrupts.dispose();
  }
}

async function follow(
  context: CliContext,
  stored: StoredImages,
  { image, logDir, token }: Followed,
  signal: AbortSignal,
): Promise<number> {
  const entry = () => stored.images.get(image);
  const isServing = await ask(context, stored, image);
  const building = await waitForBuild(context, { zk: stored.zk, image, signal }, () => firstBuild(entry(), isServing));
  const lastMs = lastBuildMs(entry());
  const last = lastMs === undefined ? '' : `; the last one took ${formatAge(lastMs)}`;
  inform(`Build ${building.id} of ${image} has started on ${building.builder ?? 'an unknown builder'}${last}`);
  const latest = () => entry()?.builds.get(building.id);
  const log = { file: buildLogFile(logDir, image, building.id), build: `${image}-${building.id}`, token };
  const tail = new BuildLogTail({ ...context, zk: stored.zk }, log, signal);
  try {
    await showUntilEnd(context, { tail, building, latest, lastMs, signal });
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
  const requestedMs = await orderBuild(context, { zk, images }, image);
  return ({ id, stat, stateTimeMs }) => !ended.has(id) && (stat?.ctime ?? stateTimeMs) >= requestedMs;
}

function firstBuild(
  entry: ImageEntry | undefined,
  isServing: (build: BuildRecord) => boolean,
): BuildRecord | undefined {
  const builds = [...(entry?.builds.values() ?? [])].filter(isServing);
  return builds.sort((a, b) => (a.stat?.ctime ?? 0) - (b.stat?.ctime ?? 0))[0];
}

/** Waits for the build, and prints each reason why builders do not start it once. */
async function waitForBuild(
  context: CliContext,
  { zk, image, signal }: { readonly zk: ZooKeeper; readonly image: string; readonly signal: AbortSignal },
  find: () => BuildRecord | undefined,
): Promise<BuildRecord> {
  const { clock } = context;
  const told = new Set<string>();
  let mentionMs = clock.now() + FIRST_MENTION_MS;
  for (; ; await delay(clock, LOOK_MS, signal)) {
    const found = find();
    if (found !== undefined) return found;
    if (clock.now() < mentionMs) continue;
    for (const [key, reason] of await findBlocks(context, { zk }, image)) {
      if (!told.has(key)) inform(`${image}: ${reason}`);
      told.add(key);
    }
    mentionMs = clock.now() + MENTION_MS;
  }
}

interface Shown {
  readonly tail: BuildLogTail;
  readonly building: BuildRecord;
  /** How long the last good build took; `undefined`: not known. */
  readonly lastMs: number | undefined;
  /** The record as it is now; `undefined`: gone. */
  readonly latest: () => BuildRecord | undefined;
  readonly signal: AbortSignal;
}

/** Shows the log until the record says that the build has ended, which is written after the last line. */
async function showUntilEnd({ clock }: CliContext, { tail, building, latest, lastMs, signal }: Shown): Promise<void> {
  let mentionMs = clock.now() + FIRST_MENTION_MS;
  for (; ; await delay(clock, LOOK_MS, signal)) {
    const isOver = latest()?.state !== 'building';
    const isHere = await tail.copyNew(isOver);
    if (isOver) return;
    if (isHere || clock.now() < mentionMs) continue;
    mentionMs = clock.now() + MENTION_MS;
    const elapsedMs = clock.now() - building.stateTimeMs;
    const about = lastMs === undefined ? '' : `, about ${Math.min(99, Math.floor((100 * elapsedMs) / lastMs))} %`;
    inform(`building for ${formatAge(elapsedMs)}${about}; the log is with ${building.builder ?? 'its builder'}`);
  }
}

function report({ clock }: CliContext, building: BuildRecord, latest: BuildRecord | undefined): number {
  const { image, id, stateTimeMs } = building;
  const took = formatAge(clock.now() - stateTimeMs);
  if (latest?.state === 'ready') {
    inform(`Build ${id} of ${image} is ready after ${took}: ${latest.formats.join(',')}`);
    return 0;
  }
  const error = latest?.raw['error'];
  const reason = typeof error === 'string' ? error : `its record is ${latest?.state ?? 'gone'}`;
  throw new CliError(`Build ${id} of ${image} failed after ${took}: ${reason}. Builders try again until it is built`);
}
