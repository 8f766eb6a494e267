import { isMap, mapOf, numberOf, textOf, type BuildRecord, type Json } from '@nodepool/zk-protocol';

/** Ended launches of one build. */
export interface LaunchCounts {
  readonly ready: number;
  readonly failed: number;
}

/** Launches of a new build, and of the build before it under the same conditions. */
export interface ComparedLaunches {
  /** Without failures that the build before it shared. */
  readonly now: LaunchCounts;
  readonly before: LaunchCounts;
}

/** Launches that have ended and are not counted yet. */
export interface EndedLaunches extends ComparedLaunches {
  /** Message of the failure of the new build; `null`: it did not fail. */
  readonly error: string | null;
}

type CountsByProvider = Readonly<Record<string, LaunchCounts>>;

/** What launches have shown of a new build of an image. Stored in its record, where all launchers read it. */
export interface ImageTrial {
  /** Launches of the new build, by provider. */
  readonly now: CountsByProvider;
  /** Launches of the build before it since, by provider. */
  readonly before: CountsByProvider;
  /** Message of the last failure that counts; `null`: none. */
  readonly error: string | null;
  /** Why a former release launches it only where there is no other build; `null`: it does not. */
  readonly refused: string | null;
}

/** Key of a build record. The original and `image-promote` drop it: then all launches use the build. */
const TRIAL_KEY = 'canary';

/** What former releases need beside the counts: their shares of launches grow after so many nodes, or seconds. */
const FOR_FORMER_RELEASES = { launches: 5, step_time: 3_600 };

/** Fewer failures may be an accident. */
const FEWEST_FAILURES = 3;
/** A build is bad if chance explains its failures with a probability below this. */
const CHANCE = 0.01;
/**
 * No more launches are taken to fail, so nine failures are always enough. They are, wherever a failure counts only if an attempt with the
 * build before it then succeeds: however often the cloud fails, at most half of what counts of a good build are failures.
 */
const MOST_FAIL = 0.59;

/** No launches. */
export const NO_LAUNCHES: LaunchCounts = { ready: 0, failed: 0 };

/** A trial that begins. */
export const NEW_TRIAL: ImageTrial = { now: {}, before: {}, error: null, refused: null };

/** The trial of a build; `undefined`: it has none, and all launches use it. Malformed values read as nothing. */
export function trialOf({ raw }: Pick<BuildRecord, 'raw'>): ImageTrial | undefined {
  const stored = raw[TRIAL_KEY];
  if (!isMap(stored)) return undefined;
  return {
    now: readCounts(stored['now']),
    before: readCounts(stored['before']),
    error: textOf(stored['error']) ?? null,
    refused: textOf(stored['refused']) ?? null,
  };
}

/** The build with a trial. What former releases have noted beside it stays. */
export function withTrial(build: BuildRecord, { now, before, error }: ImageTrial): BuildRecord {
  const known = { ...FOR_FORMER_RELEASES, ...mapOf(build.raw[TRIAL_KEY]) };
  const share = countsOfAll(now).ready > 0 ? 100 : 0;
  const stored = { ...known, share, now: copied(now), before: copied(before), error };
  return { ...build, raw: { ...build.raw, [TRIAL_KEY]: stored } };
}

/** The build without a trial: all launches use it, also those of launchers that do not know trials. */
export function withoutTrial(build: BuildRecord): BuildRecord {
  const { [TRIAL_KEY]: _, ...raw } = build.raw;
  return { ...build, raw };
}

/** Whether a build has no trial, or one of its nodes became ready. @param provider - where all launches then use it; default: any */
export function isInService(build: Pick<BuildRecord, 'raw'>, provider?: string): boolean {
  const trial = trialOf(build);
  if (!trial) return true;
  return (provider === undefined ? countsOfAll(trial.now) : launchesIn(trial, provider).now).ready > 0;
}

/** Launches of both builds in a provider during the trial. */
export function launchesIn({ now, before }: ImageTrial, provider: string): ComparedLaunches {
  return { now: now[provider] ?? NO_LAUNCHES, before: before[provider] ?? NO_LAUNCHES };
}

/** Counts launches in a provider. */
export function afterLaunches(trial: ImageTrial, provider: string, ended: EndedLaunches): ImageTrial {
  const { now, before } = launchesIn(trial, provider);
  return {
    ...trial,
    now: { ...trial.now, [provider]: added(now, ended.now) },
    before: { ...trial.before, [provider]: added(before, ended.before) },
    error: ended.error ?? trial.error,
  };
}

/**
 * Why a new build is bad; `undefined`: it may be chance. The rule: all its launches failed, at least three, and chance explains that
 * with a probability below 1 %, if it fails as often as the build before it. Of that build two successes and two failures are
 * counted in addition, so that few launches do not show that it never fails, or always; without any, half of them fail.
 */
export function faultOf({ now, before }: ComparedLaunches): string | undefined {
  const launches = before.ready + before.failed;
  const chance = Math.min(MOST_FAIL, (before.failed + 2) / (launches + 4)) ** now.failed;
  if (now.ready > 0 || now.failed < FEWEST_FAILURES || chance >= CHANCE) return undefined;
  const percent = chance < 0.0001 ? 'less than 0.01' : (100 * chance).toFixed(2);
  return (
    `${now.failed} of ${now.failed} launches failed, of the build before it ${before.failed} of ${launches}; ` +
    `chance explains that with a probability of ${percent} %`
  );
}

/** The sum of two counts. */
export function added(a: LaunchCounts, b: LaunchCounts): LaunchCounts {
  return { ready: a.ready + b.ready, failed: a.failed + b.failed };
}

/** The sum of the counts in all providers. */
export function countsOfAll(counts: CountsByProvider): LaunchCounts {
  return Object.values(counts).reduce(added, NO_LAUNCHES);
}

const copied = (counts: CountsByProvider) =>
  Object.fromEntries(Object.entries(counts).map(([provider, { ready, failed }]) => [provider, { ready, failed }]));

function readCounts(stored: Json | undefined): CountsByProvider {
  const counts = Object.entries(mapOf(stored)).map(([provider, value]) => {
    const { ready, failed } = mapOf(value);
    return [provider, { ready: numberOf(ready) ?? 0, failed: numberOf(failed) ?? 0 }];
  });
  return Object.fromEntries(counts) as CountsByProvider;
}
