import type { BuildRecord, Json, JsonObject } from '@nodepool/zk-protocol';
import type { DiskimageCanary } from '../contract/config.js';
import { added, chanceOf, NONE, type Comparison, type LaunchCounts } from './rates.js';

/**
 * How a new build of an image is tried out: with single launches until one of its nodes is ready, in each provider, and
 * with a growing share of them. Kept in the build's record, where all launchers find it.
 */
export interface Canary {
  /** Percent of launches that get the new build where it has proved itself. 0: nowhere yet. 100: it is in service. */
  readonly share: number;
  /** Since when there is this share, in ms since the epoch. */
  readonly sinceMs: number;
  /** Nodes of the new build that became ready at this share. */
  readonly readyAtShare: number;
  /** Launches of the new build, by provider; failures in which the previous build failed as well are not counted. */
  readonly now: CountsByProvider;
  /** Launches of the previous build meanwhile, by provider. */
  readonly before: CountsByProvider;
  /** Uses of their nodes meanwhile. */
  readonly uses: Uses;
  /** Failures of the new build, by provider, since which the previous build has not been launched there. */
  readonly doubts: Readonly<Record<string, number>>;
  /** The launch that tries it where it has not proved itself, by the node. */
  readonly probe: { readonly node: string; readonly sinceMs: number } | undefined;
  /** Of the last failure; `null`: there was none. */
  readonly error: string | null;
  /** Why it gets no launches any more although it could not be removed; `null`: it gets them. */
  readonly refused: string | null;
  /** Nodes that must become ready at a share before the next one. */
  readonly launches: number;
  /** After this time a share ends with less. */
  readonly stepMs: number;
}

/** Counts by the name of the provider. */
export type CountsByProvider = Readonly<Record<string, LaunchCounts>>;

/** Nodes that were in use, of the new and of the previous build; `failed` are those that were given back at once. */
export interface Uses {
  readonly now: LaunchCounts;
  readonly before: LaunchCounts;
}

/** Key of ours in a build record. Builders and tools of the original drop it when they change the build's state, as they should. */
export const CANARY_KEY = 'canary';

/** Shares after the first success, in percent. */
const SHARES = [5, 25, 100] as const;
const IN_SERVICE = 100;

/** As many failures may be an accident. */
const ACCIDENTS = 2;
/**
 * The new build is withdrawn when chance explains its failures with less probability. The test is repeated after each launch:
 * fewer than one in a hundred good builds are withdrawn by mistake, however often the cloud fails. A build that never boots has
 * failed five times when the build before it was launched five times in its place.
 */
const CHANCE = 0.005;

/** The beginning. */
export function newCanary({ launches, stepMs }: DiskimageCanary, nowMs: number): Canary {
  return {
    ...{ share: 0, sinceMs: nowMs, readyAtShare: 0, now: {}, before: {}, doubts: {}, probe: undefined },
    ...{ uses: { now: NONE, before: NONE }, error: null, refused: null, launches, stepMs },
  };
}

/** What is being tried out about a build, with what time has changed. `undefined`: nothing ever was. */
export function canaryOf({ raw }: Pick<BuildRecord, 'raw'>, nowMs: number): Canary | undefined {
  const stored = raw[CANARY_KEY];
  if (!isObject(stored)) return undefined;
  return afterTime(read(stored), nowMs);
}

/** Whether a build is not, or no longer, tried out; a provider that has not launched it yet still tries it once. */
export function isInService(build: Pick<BuildRecord, 'raw'>, nowMs: number): boolean {
  return (canaryOf(build, nowMs)?.share ?? IN_SERVICE) >= IN_SERVICE;
}

/** The build with what is being tried out about it. */
export function withCanary(build: BuildRecord, canary: Canary): BuildRecord {
  return { ...build, raw: { ...build.raw, [CANARY_KEY]: write(canary) } };
}

/** The build as one that was never tried out: all launches get it, also those of launchers that know of no trials. */
export function withoutCanary(build: BuildRecord): BuildRecord {
  const { [CANARY_KEY]: _, ...raw } = build.raw;
  return { ...build, raw };
}

/** Percent of launches in a provider that get the new build now; `probe`: one, and no other before it has ended. */
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

/** Whether a failure waits for what the previous build does there. */
export function isInDoubt({ doubts }: Canary): boolean {
  return Object.keys(doubts).length > 0;
}

/** A node has begun to try the new build. */
export function withProbe(canary: Canary, node: string, nowMs: number): Canary {
  return { ...canary, probe: { node, sinceMs: nowMs } };
}

/** A launch of the new build has ended. @param error - `undefined`: its node is ready */
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

/** A launch that says nothing about the image has ended, for example for lack of quota. */
export function withoutProbe(canary: Canary, node: string): Canary {
  return canary.probe?.node === node ? { ...canary, probe: undefined } : canary;
}

/**
 * Launches of the previous build have ended in a provider. Where one succeeded, failures of the new build before it count;
 * where all failed neither counts: an outage in which the new build happens to be tried must not weigh against it later.
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

/** Nodes of both builds were given back. */
export function afterUses(canary: Canary, { now, before }: Uses): Canary {
  return { ...canary, uses: { now: added(canary.uses.now, now), before: added(canary.uses.before, before) } };
}

/** Why the new build is to be withdrawn; `undefined`: it is not, or not yet. */
export function fault({ now, before, uses, error }: Canary): string | undefined {
  const providers = Object.keys(now);
  const launches = providers.map((name) => ({ now: now[name] ?? NONE, before: before[name] ?? NONE }));
  const bad = worseThanBefore(launches, 'launches failed');
  if (bad !== undefined) return `${bad}; the last error was: ${error ?? 'unknown'}`;
  return worseThanBefore([uses], 'nodes were given back at once');
}

/**
 * Says how much worse a new build is than the one before it, and how likely chance explains that; `undefined`: chance may.
 * @param compared - under the same conditions each
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

/** Where images are launched rarely, time does what launches do elsewhere, once a node has become ready. */
function afterTime(canary: Canary, nowMs: number): Canary {
  let { share, sinceMs, readyAtShare, doubts } = canary;
  const stepMs = Math.max(1_000, canary.stepMs);
  if (canary.refused !== null) return canary;
  if (isInDoubt(canary)) {
    if (nowMs < sinceMs + stepMs) return canary;
    sinceMs += stepMs;
    doubts = {}; // the previous build has not been launched there since: there is nothing to compare with
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

/** What is missing or of another form reads as nothing: then the trial begins again. */
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
    probe: isObject(probe)
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
  isObject(value) ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, read(one)])) : {};
const countsOf = (value: Json | undefined): LaunchCounts =>
  isObject(value) ? { ready: numberOf(value['ready']), failed: numberOf(value['failed']) } : NONE;

const usesOf = (value: Json | undefined): Uses =>
  isObject(value) ? { now: countsOf(value['now']), before: countsOf(value['before']) } : { now: NONE, before: NONE };

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
