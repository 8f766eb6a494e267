import { afterPrevious, afterUses, type Canary, type Uses } from '../../images/trial.js';
import { added, NONE, type LaunchCounts } from '../../images/rates.js';

/** So many counts are stored for other launchers even if no decision depends on them. */
const STORED_TOGETHER = 20;

/** Counts of the trial of one build that are not stored yet. */
export interface UnstoredCounts {
  /** Launches of the previous build, by provider. */
  readonly launches: Map<string, LaunchCounts>;
  uses: Uses;
}

/**
 * Results of launches and uses while new builds are tried out, as far as they are not stored yet. By the id of the new
 * build.
 */
export type CanaryCounts = Map<string, UnstoredCounts>;

/** Counts a launch of the previous build. */
export function countLaunch(counts: CanaryCounts, build: string, provider: string, result: LaunchCounts): void {
  const { launches } = countsOf(counts, build);
  launches.set(provider, added(launches.get(provider) ?? NONE, result));
}

/** Counts nodes that were given back. */
export function countUses(counts: CanaryCounts, build: string, { now, before }: Uses): void {
  const unstored = countsOf(counts, build);
  unstored.uses = { now: added(unstored.uses.now, now), before: added(unstored.uses.before, before) };
}

/** Whether a decision depends on the counts of a build, or there are many of them. */
export function isWorthStoring(counts: CanaryCounts, build: string, { doubts, refused }: Canary): boolean {
  const unstored = counts.get(build);
  if (refused !== null || !unstored) return false;
  const { launches, uses } = unstored;
  if (uses.now.failed > 0 || [...launches.keys()].some((provider) => doubts[provider] !== undefined)) return true;
  const all = [uses.now, uses.before, ...launches.values()].reduce(added, NONE);
  return all.ready + all.failed >= STORED_TOGETHER;
}

/** Removes the counts of a build, to store them. */
export function takeCounts(counts: CanaryCounts, build: string): UnstoredCounts {
  const taken = countsOf(counts, build);
  counts.delete(build);
  return taken;
}

/** Adds counts again that could not be stored. */
export function putBackCounts(counts: CanaryCounts, build: string, { launches, uses }: UnstoredCounts): void {
  if (launches.size === 0 && isEmpty(uses)) return;
  launches.forEach((result, provider) => countLaunch(counts, build, provider, result));
  countUses(counts, build, uses);
}

/** Adds the counts to the state of a trial. */
export function applyCounts({ launches, uses }: UnstoredCounts, canary: Canary, nowMs: number): Canary {
  return [...launches].reduce(
    (result, [provider, counts]) => afterPrevious(result, provider, counts, nowMs),
    afterUses(canary, uses),
  );
}

function countsOf(counts: CanaryCounts, build: string): UnstoredCounts {
  let unstored = counts.get(build);
  if (!unstored) counts.set(build, (unstored = { launches: new Map(), uses: { now: NONE, before: NONE } }));
  return unstored;
}

function isEmpty({ now, before }: Uses): boolean {
  const { ready, failed } = added(now, before);
  return ready + failed === 0;
}
