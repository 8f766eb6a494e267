import { isMap, type BuildRecord, type Json, type JsonObject } from '@nodepool/zk-protocol';
import type { DiskimageCanary } from '../contract/config.js';
import { added, chanceOf, NONE, type Comparison, type LaunchCounts } from './rates.js';

/**
 * The trial of a new build of an image: single launches in each provider until one of its nodes is ready, then a growing share of
 * the launches. Stored in the record of the build, where all launchers read it.
 */
export interface Canary {
  /** Percentage of launches with the new build in providers where a node became ready. 0: none yet; 100: in service. */
  readonly share: number;
  /** Start of the present share, ms since the epoch. */
  readonly sinceMs: number;
  /** Nodes of the new build that became ready at this share. */
  readonly readyAtShare: number;
  /** Launches of the new build by provider, without failures at which the previous build failed as well. */
  readonly now: CountsByProvider;
  /** Launches of the previous build during the trial, by provider. */
  readonly before: CountsByProvider;
  /** Uses of nodes of both builds during the trial. */
  readonly uses: Uses;
  /** Failures of the new build by provider since the last launch of the previous build there. */
  readonly doubts: Readonly<Record<string, number>>;
  /** The single launch in a provider without a ready node yet, by its node. */
  readonly probe: { readonly node: string; readonly sinceMs: number } | undefined;
  /** Message of the last failure; `null`: none. */
  readonly error: string | null;
  /** Why the build gets no launches although it could not be removed; `null`: it gets launches. */
  readonly refused: string | null;
  /** Nodes that must become ready at one share before the next share. */
  readonly launches: number;
  /** After this time one ready node is enough. */
  readonly stepMs: number;
}

/** Counts by provider. */
export type CountsByProvider = Readonly<Record<string, LaunchCounts>>;

/** Used nodes of the new and of the previous build; `failed` counts nodes that were returned at once. */
export interface Uses {
  readonly now: LaunchCounts;
  readonly before: LaunchCounts;
}

/** Additional key in a build record. Builders and tools of the original drop it when they change the state, which is intended. */
export const CANARY_KEY = 'canary';

/** Shares after the first success, in percent. */
const SHARES = [5, 25, 100] as const;
const IN_SERVICE = 100;

/** So few failures may be an accident. */
const ACCIDENTS = 2;
/**
 * The new build is withdrawn when chance explains its failures with less probability. The test is repeated after each launch:
 * fewer than one in a hundred good builds are withdrawn by mistake, however often the cloud fails. A build that never boots has
 * failed five times when the build before it was launched five times in its place.
 */
const CHANCE = 0.005;

/** Starts a trial. */
export function newCanary({ launches, stepMs }: DiskimageCanary, nowMs: number): Canary {
  return {
    ...{ share: 0, sinceMs: nowMs, readyAtShare: 0, now: {}, before: {}, doubts: {}, probe: undefined },
    ...{ uses: { now: NONE, before: NONE }, error: null, refused: null, launches, stepMs },
  };
}

/** The trial of a build at the given time. `undefined`: the build never had one. */
export function canaryOf({ raw }: Pick<BuildRecord, 'raw'>, nowMs: number): Canary | undefined {
  const stored = raw[CANARY_KEY];
  if (!isMap(stored)) return undefined;
  return afterTime(read(stored), nowMs);
}

/** Whether a build is not on trial, or no longer. A provider that has not launched it yet still tries it once. */
export function isInService(build: Pick<BuildRecord, 'raw'>, nowMs: number): boolean {
  return (canaryOf(build, nowMs)?.share ?? IN_SERVICE) >= IN_SERVICE;
}

/** The build with a trial. */
export function withCanary(build: BuildRecord, canary: Canary): BuildRecord {
  return { ...build, raw: { ...build.raw, [CANARY_KEY]: write(canary) } };
}

/** The build without a trial: all launches use it, also those of launchers that do not know trials. */
export function withoutCanary(build: BuildRecord): BuildRecord {
  const { [CANARY_KEY]: _, ...raw } = build.raw;
  return { ...build, raw };
}

/** Present percentage of launches with the new build in a provider; `probe`: one launch at a time. */
export function shareOf(canary: Canary, provider: string): number | 'probe' {
  const isProven = (canary.now[provider]?.ready ?? 0) > 0;
  if (isProven && canary.share >= IN_SERVICE) return IN_SERVICE;
  if (canary.refused !== null || isInDoubt(canary)) return 0;
  return isProven ? canary.share : 'probe';
}

/** Launches in all providers. */
export function countsOfAll(counts: CountsByProvider): LaunchCounts {
  return Object.values(counts).reduce(added, NONE);
}

/** Whether a failure is undecided until the previous build is launched there. */
export function isInDoubt({ doubts }: Canary): boolean {
  return Object.keys(doubts).length > 0;
}

/** Records that a node started to probe the new build. */
export function withProbe(canary: Canary, node: string, nowMs: number): Canary {
  return { ...canary, probe: { node, sinceMs: nowMs } };
}

/** Records the end of a launch of the new build. @param error - `undefined`: its node is ready */
export function afterLaunch(
  canary: Canary,
  { node, provider, error }: { readonly node: string; readonly provider: string; readonly error: string | undefined },
  nowMs: number,
): Canary {
  const probe = canary.probe?.node === node ? undefined : canary.probe;
  if (error !== undefined) {
    const doubts = { ...canary.doubts, [provider]: (canary.doubts[provider] ?? 0) + 1 };
    return { ...canary, probe, doubts, error, ...(isInDoubt(canary) ? {} : { sinceMs: nowMs }) };
  }
  const now = withCounts(canary.now, provider, { ready: 1, failed: 0 });
  const readyAtShare = canary.readyAtShare + 1;
  const isEnough = canary.share === 0 || readyAtShare >= canary.launches;
  return isEnough
    ? { ...canary, probe, now, share: shareAfter(canary.share), readyAtShare: 0, sinceMs: nowMs }
    : { ...canary, probe, now, readyAtShare };
}

/** Records the end of a launch that failed for another reason than the image, for example lack of quota. */
export function withoutProbe(canary: Canary, node: string): Canary {
  return canary.probe?.node === node ? { ...canary, probe: undefined } : canary;
}

/**
 * Records ended launches of the previous build in a provider. If one succeeded, earlier failures of the new build count. If all
 * failed, no failure counts: an outage during the trial must not weigh against the new build.
 */
export function afterPrevious(canary: Canary, provider: string, counts: LaunchCounts, nowMs: number): Canary {
  if (counts.ready + counts.failed === 0) return canary;
  const before = withCounts(canary.before, provider, counts);
  const { [provider]: doubt, ...doubts } = canary.doubts;
  if (doubt === undefined) return { ...canary, before };
  if (counts.ready === 0) return { ...canary, doubts, sinceMs: nowMs };
  const now = withCounts(canary.now, provider, { ready: 0, failed: doubt });
  return { ...canary, before, doubts, now, sinceMs: nowMs };
}

/** Records returned nodes of both builds. */
export function afterUses(canary: Canary, { now, before }: Uses): Canary {
  return { ...canary, uses: { now: added(canary.uses.now, now), before: added(canary.uses.before, before) } };
}

/** Reason to withdraw the new build; `undefined`: none so far. */
export function fault({ now, before, uses, error }: Canary): string | undefined {
  const providers = Object.keys(now);
  const launches = providers.map((name) => ({ now: now[name] ?? NONE, before: before[name] ?? NONE }));
  const bad = worseThanBefore(launches, 'launches failed');
  if (bad !== undefined) return `${bad}; the last error was: ${error ?? 'unknown'}`;
  return worseThanBefore([uses], 'nodes were given back at once');
}

/**
 * Describes how much worse a new build is than the previous one, with the probability of chance; `undefined`: it may be chance.
 * @param compared - launches of both builds under the same conditions
 */
export function worseThanBefore(compared: readonly Comparison[], what: string): string | undefined {
  const now = compared.map((one) => one.now).reduce(added, NONE);
  const before = compared.map((one) => one.before).reduce(added, NONE);
  const chance = chanceOf(compared);
  if (now.failed <= ACCIDENTS || chance >= CHANCE) return undefined;
  return (
    `${now.failed} of ${now.ready + now.failed} ${what}, of the build before it ${before.failed} of ` +
    `${before.ready + before.failed}; chance explains that with a probability of ${percent(chance)}`
  );
}

const percent = (chance: number): string => (chance < 0.0001 ? 'less than 0.01 %' : `${(100 * chance).toFixed(2)} %`);

const withCounts = (all: CountsByProvider, provider: string, counts: LaunchCounts): CountsByProvider => ({
  ...all,
  [provider]: added(all[provider] ?? NONE, counts),
});

function shareAfter(share: number): number {
  return SHARES.find((next) => next > share) ?? IN_SERVICE;
}

/** For rarely launched images: after a time, one ready node is enough to reach the next share. */
function afterTime(canary: Canary, nowMs: number): Canary {
  let { share, sinceMs, readyAtShare, doubts } = canary;
  const stepMs = Math.max(1_000, canary.stepMs);
  if (canary.refused !== null) return canary;
  if (isInDoubt(canary)) {
    if (nowMs < sinceMs + stepMs) return canary;
    sinceMs += stepMs;
    doubts = {}; // without a launch of the previous build there is no comparison
  }
  while (share > 0 && share < IN_SERVICE && nowMs >= sinceMs + stepMs) {
    share = shareAfter(share);
    sinceMs += stepMs;
    readyAtShare = 0;
  }
  return { ...canary, share, sinceMs, readyAtShare, doubts };
}

const MS_PER_SECOND = 1_000;

function write({ now, before, probe, sinceMs, stepMs, readyAtShare, ...rest }: Canary): JsonObject {
  return {
    ...rest,
    since: sinceMs / MS_PER_SECOND,
    step_time: stepMs / MS_PER_SECOND,
    ready_at_share: readyAtShare,
    now: copied(now),
    before: copied(before),
    uses: { now: { ...rest.uses.now }, before: { ...rest.uses.before } },
    doubts: { ...rest.doubts },
    probe: probe ? { node: probe.node, since: probe.sinceMs / MS_PER_SECOND } : null,
  };
}

/** Missing or malformed values read as nothing; then the trial starts again. */
function read(json: JsonObject): Canary {
  const probe = json['probe'];
  return {
    share: numberOf(json['share']),
    sinceMs: numberOf(json['since']) * MS_PER_SECOND,
    readyAtShare: numberOf(json['ready_at_share']),
    now: mapped(json['now'], countsOf),
    before: mapped(json['before'], countsOf),
    uses: usesOf(json['uses']),
    doubts: mapped(json['doubts'], numberOf),
    probe: isMap(probe)
      ? { node: textOf(probe['node']) ?? '', sinceMs: numberOf(probe['since']) * MS_PER_SECOND }
      : undefined,
    error: textOf(json['error']),
    refused: textOf(json['refused']),
    launches: numberOf(json['launches']),
    stepMs: numberOf(json['step_time']) * MS_PER_SECOND,
  };
}

const copied = (all: CountsByProvider): JsonObject =>
  Object.fromEntries(Object.entries(all).map(([name, counts]) => [name, { ...counts }]));
const numberOf = (value: Json | undefined): number => (typeof value === 'number' ? value : 0);
const textOf = (value: Json | undefined): string | null => (typeof value === 'string' ? value : null);
const mapped = <Value>(value: Json | undefined, read: (value: Json) => Value): Record<string, Value> =>
  isMap(value) ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, read(one)])) : {};
const countsOf = (value: Json | undefined): LaunchCounts =>
  isMap(value) ? { ready: numberOf(value['ready']), failed: numberOf(value['failed']) } : NONE;

const usesOf = (value: Json | undefined): Uses =>
  isMap(value) ? { now: countsOf(value['now']), before: countsOf(value['before']) } : { now: NONE, before: NONE };
