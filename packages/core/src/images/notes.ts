import type { BuildRecord, ImageEntry, NodeRecord } from '@nodepool/zk-protocol';
import { failedTests, wasWithdrawnIn } from './failed-tests.js';
import { readyBuilds } from './newest-builds.js';
import { countsOfAll, isInService, trialOf } from './trial.js';

/** Additional key in a record: the reason of its failure. */
const ERROR_KEY = 'error';

/** Describes the state of an image: builds on trial, why it cannot be built, and why it is paused. */
export function imageNotes(entry: ImageEntry): string[] {
  const { builds, pauseReason } = entry;
  const failure = failureNote(entry);
  const tried = [...builds.values()].flatMap((build) => {
    const note = buildNote(build);
    return note === undefined ? [] : [`build ${build.id} ${note}`];
  });
  const refused = [...builds.values()].flatMap((build) => (build.state === 'ready' ? refusals(build) : []));
  return [
    ...tried,
    ...refused,
    ...(failure ? [failure] : []),
    ...(pauseReason === undefined ? [] : [`paused: ${pauseReason}`]),
  ];
}

function refusals(build: BuildRecord): string[] {
  return [...failedTests(build)].map(([provider, reason]) => {
    const why = wasWithdrawnIn(build, provider) ? 'was withdrawn in' : 'failed its test in';
    return (
      `build ${build.id} ${why} provider ${provider} and is not uploaded there: ${reason}; a new build is ` +
      `tested again, this one after "nodepool image-promote ${build.image}"`
    );
  });
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

/** Why the newest build is out of service everywhere, or in some providers; `undefined`: it is in service, or still on trial. */
export function withdrawnNote(entry: ImageEntry): string | undefined {
  if (entry.pauseReason !== undefined) return entry.pauseReason;
  const [newest] = readyBuilds(entry);
  if (!newest) return undefined;
  const withdrawn = [...failedTests(newest)].flatMap(([provider, reason]) =>
    wasWithdrawnIn(newest, provider) ? [`was withdrawn in provider "${provider}": ${reason}`] : [],
  );
  if (withdrawn.length > 0) return `build ${newest.id} ${withdrawn.join('; it ')}`;
  const isRefused = (trialOf(newest)?.refused ?? null) !== null;
  return isRefused ? `build ${newest.id} ${buildNote(newest) ?? ''}` : undefined;
}

/** Percentage of launches with the newest build, as far as images go: 0 on trial, 100 in service, or there is no build. */
export function newestPercent(entry: ImageEntry): number {
  const [newest] = readyBuilds(entry);
  return newest && !isInService(newest) ? 0 : 100;
}

/** Describes the trial of a build; `undefined`: it is not on trial. */
export function buildNote(build: BuildRecord): string | undefined {
  const trial = build.state === 'ready' ? trialOf(build) : undefined;
  if (!trial || (trial.refused === null && isInService(build))) return undefined;
  const { refused } = trial;
  const [now, before] = [countsOfAll(trial.now), countsOfAll(trial.before)];
  const standing =
    refused === null
      ? 'is tried out with one launch at a time'
      : `is launched only where there is no other: ${refused}`;
  const counts = `${now.ready} of its launches succeeded and ${now.failed} failed`;
  return `${standing}; ${counts}, of the build before it ${before.ready} and ${before.failed}`;
}

/** Notes that a node is made from a build on trial; `undefined`: it is not. */
export function nodeNote(images: ReadonlyMap<string, ImageEntry>, { imageId }: NodeRecord): string | undefined {
  const [, , , image = '', , id = ''] = imageId?.split('/') ?? [];
  const build = images.get(image)?.builds.get(id);
  const note = build && buildNote(build);
  return note === undefined ? undefined : `of image ${image}, whose build ${id} ${note}`;
}
