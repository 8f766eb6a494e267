import type { BuildRecord, ImageEntry, NodeRecord } from '@nodepool/zk-protocol';
import { canaryOf, countsOfAll, isInDoubt, isInService, type Canary } from './trial.js';
import { failedTests } from './failed-tests.js';
import { readyBuilds } from './newest-builds.js';

/** Additional key in a record: the reason of its failure. */
const ERROR_KEY = 'error';

/** Describes the state of an image: builds on trial, why it cannot be built, and why it is paused. */
export function imageNotes(entry: ImageEntry, nowMs: number): string[] {
  const { builds, pauseReason } = entry;
  const failure = failureNote(entry);
  const tried = [...builds.values()].flatMap((build) => {
    const note = buildNote(build, nowMs);
    return note === undefined ? [] : [`build ${build.id} ${note}`];
  });
  const refused = [...builds.values()].flatMap((build) =>
    build.state !== 'ready'
      ? []
      : [...failedTests(build)].map(
          ([provider, reason]) =>
            `build ${build.id} failed its test in provider ${provider} and is not uploaded there: ${reason}; a new build is ` +
            `tested again, this one after "nodepool image-promote ${entry.name}"`,
        ),
  );
  return [
    ...tried,
    ...refused,
    ...(failure ? [failure] : []),
    ...(pauseReason === undefined ? [] : [`paused: ${pauseReason}`]),
  ];
}

/** Describes the failure of the newest build; `undefined`: it has not failed. */
export function failureNote({ builds }: ImageEntry): string | undefined {
  const [newest] = [...builds.values()]
    .filter(({ state }) => state === 'ready' || state === 'failed')
    .sort((a, b) => b.stateTimeMs - a.stateTimeMs);
  if (newest?.state !== 'failed') return undefined;
  const error = newest.raw[ERROR_KEY];
  return `build ${newest.id} has failed${typeof error === 'string' ? `: ${error}` : ''}`;
}

/** Why the newest build is out of service: it was withdrawn, or would be if there were another; `undefined`: in service. */
export function withdrawnNote({ builds, pauseReason }: ImageEntry, nowMs: number): string | undefined {
  if (pauseReason !== undefined) return pauseReason;
  for (const build of builds.values()) {
    const refused = build.state === 'ready' ? (canaryOf(build, nowMs)?.refused ?? null) : null;
    if (refused !== null) return `build ${build.id} ${buildNote(build, nowMs) ?? ''}`;
  }
  return undefined;
}

/** Percentage of launches with the newest build; 100: in service, or there is no build. */
export function canaryPercent(entry: ImageEntry, nowMs: number): number {
  const [newest] = readyBuilds(entry);
  const canary = newest && canaryOf(newest, nowMs);
  if (!canary || canary.share >= 100) return 100;
  return canary.refused !== null || isInDoubt(canary) ? 0 : canary.share;
}

/** Describes the trial of a build; `undefined`: it is not on trial. */
export function buildNote(build: BuildRecord, nowMs: number): string | undefined {
  const canary = build.state === 'ready' ? canaryOf(build, nowMs) : undefined;
  if (!canary || (canary.refused === null && isInService(build, nowMs))) return undefined;
  const before = countsOfAll(canary.before);
  const now = countsOfAll(canary.now);
  const counts = `${now.ready} of its launches succeeded and ${now.failed} failed`;
  return `${standing(canary)}; ${counts}, of the build before it ${before.ready} and ${before.failed}`;
}

function standing(canary: Canary): string {
  const { share, refused, error } = canary;
  if (refused !== null) return `is launched only where there is no other: ${refused}`;
  if (isInDoubt(canary)) {
    return `is held back until a launch of the build before it shows what its failure meant: ${error ?? ''}`;
  }
  return share === 0 ? 'is tried out with one launch at a time' : `is tried out with ${share} % of the launches`;
}

/** Notes that a node is made from a build on trial; `undefined`: it is not. */
export function nodeNote(
  images: ReadonlyMap<string, ImageEntry>,
  { imageId }: NodeRecord,
  nowMs: number,
): string | undefined {
  const [, , , image = '', , id = ''] = imageId?.split('/') ?? [];
  const build = images.get(image)?.builds.get(id);
  const note = build && buildNote(build, nowMs);
  return note === undefined ? undefined : `of image ${image}, whose build ${id} ${note}`;
}
