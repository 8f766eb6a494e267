import type { Config } from '@nodepool/core';
import { isInService } from '@nodepool/core/service';
import type { BuildRecord, ImageEntry, UploadRecord } from '@nodepool/zk-protocol';
import { readyBuilds, readyUploads } from './newest-builds.js';

/** One step of a cleanup. Each is idempotent and runs under the locks of the data model. */
export type CleanupStep =
  /** An upload whose builder has gone: the record is removed if the upload lock is free. */
  | { readonly step: 'forget-upload'; readonly upload: UploadRecord }
  /** Delete the image in the cloud, then the record. */
  | { readonly step: 'delete-upload'; readonly upload: UploadRecord }
  /** A build that may still be in progress: it becomes `deleting` if the build lock is free. */
  | { readonly step: 'retire-interrupted-build'; readonly build: BuildRecord }
  /** The build becomes `deleting`. */
  | { readonly step: 'retire-build'; readonly build: BuildRecord }
  /** Delete the record of a build without uploads. */
  | { readonly step: 'delete-build'; readonly build: BuildRecord };

/** Number of builds of an image that are kept: current and previous one. */
const KEPT_BUILDS = 2;
/** Number of uploads of an image that are kept in each provider: current and previous one. */
const KEPT_UPLOADS = 2;

/** How long the last failed build of an image is kept for inspection. */
const FAILED_STAYS_MS = 3_600_000;

/** Additional key of a build record: it became `deleting` because its builder seemed dead. */
export const RETIRED_KEY = 'retired';

/** A build that would be removed if the providers of its uploads were configured. */
export interface PinnedBuild {
  readonly build: BuildRecord;
  readonly provider: string;
  readonly reason: string;
}

/** Builds that only uploads to providers keep which are not configured: nothing removes those, nor the files of the build. */
export function pinnedBuilds(config: Config, entry: ImageEntry, nowMs: number): PinnedBuild[] {
  const isConfigured = config.diskimages.get(entry.name)?.abstract === false;
  const keep = new Set(isConfigured ? keptBuilds(entry, nowMs).map(({ id }) => id) : []);
  return [...entry.builds.values()].flatMap((build) => {
    const uploads = [...entry.uploads.values()].filter(({ buildId }) => buildId === build.id);
    const unknown = [...new Set(uploads.map(({ provider }) => provider))].filter((name) => !config.providers.has(name));
    if (keep.has(build.id) || build.state === 'building') return [];
    return unknown.map((provider) => ({ build, provider, reason: whyPinned(provider) }));
  });
}

const whyPinned = (provider: string): string =>
  `provider "${provider}" has an upload of it and is not in the configuration: configure the provider with "diskimages: []" ` +
  `until its uploads are gone, or run "nodepool erase ${provider}"`;

/** Plans the cleanup of one image in the order of the data model: uploads first, then their build. */
export function planCleanup(config: Config, entry: ImageEntry, nowMs: number): CleanupStep[] {
  const isConfigured = config.diskimages.get(entry.name)?.abstract === false;
  const keep = new Set(isConfigured ? keptBuilds(entry, nowMs).map(({ id }) => id) : []);
  const failure = isConfigured ? lastFailure(entry, nowMs) : undefined;
  if (failure) keep.add(failure.id);
  const recent = recentUploads(config, entry, nowMs);
  return [...entry.builds.values()].flatMap((build) => stepsFor(build, config, entry, keep, recent));
}

/** The newest, and while they are tried out the one that serves. */
function keptBuilds(entry: ImageEntry, nowMs: number): BuildRecord[] {
  const builds = readyBuilds(entry);
  const serving = builds.find((build) => isInService(build, nowMs));
  return [...builds.slice(0, KEPT_BUILDS), ...(serving ? [serving] : [])];
}

/** A build that failed a short while ago, and after which none was good. */
function lastFailure(entry: ImageEntry, nowMs: number): BuildRecord | undefined {
  const [newest] = readyBuilds(entry);
  const sinceMs = Math.max(newest?.stateTimeMs ?? 0, nowMs - FAILED_STAYS_MS);
  const failed = [...entry.builds.values()].filter(
    ({ state, stateTimeMs }) => state === 'failed' && stateTimeMs > sinceMs,
  );
  return failed.sort((a, b) => b.stateTimeMs - a.stateTimeMs)[0];
}

/** Uploads that a provider still depends on as its current or previous image, so that an old build survives. */
function recentUploads(config: Config, entry: ImageEntry, nowMs: number): ReadonlySet<UploadRecord> {
  const recent = new Set<UploadRecord>();
  for (const { name, images } of config.providers.values()) {
    if (!images?.diskimages.has(entry.name)) continue;
    const uploads = readyUploads(entry, name);
    const serving = uploads.find(({ buildId }) => {
      const build = entry.builds.get(buildId);
      return build !== undefined && isInService(build, nowMs);
    });
    for (const upload of [...uploads.slice(0, KEPT_UPLOADS), ...(serving ? [serving] : [])]) recent.add(upload);
  }
  return recent;
}

function stepsFor(
  build: BuildRecord,
  config: Config,
  entry: ImageEntry,
  keep: ReadonlySet<string>,
  recent: ReadonlySet<UploadRecord>,
): CleanupStep[] {
  const uploads = [...entry.uploads.values()].filter(({ buildId }) => buildId === build.id);
  const managed = uploads.filter(({ provider }) => config.providers.get(provider)?.images !== undefined);
  if (build.state !== 'deleting') {
    if (keep.has(build.id)) return managed.flatMap((upload) => cruftStep(upload, config, entry.name));
    if (build.state === 'building') return [{ step: 'retire-interrupted-build', build }];
  }
  const removable = build.state === 'deleting' ? managed : managed.filter((upload) => !recent.has(upload));
  const steps = removable.map((upload): CleanupStep => removalStep(upload));
  const left = uploads.filter((upload) => !removable.includes(upload));
  if (build.state !== 'deleting' && left.every(({ state }) => state === 'deleting')) {
    steps.push({ step: 'retire-build', build });
  }
  if (build.state === 'deleting' && uploads.length === 0) steps.push({ step: 'delete-build', build });
  return steps;
}

/**
 * Plans the cleanup of uploads of a build that is kept: unwanted and failed ones, and those of dead builders.
 */
function cruftStep(upload: UploadRecord, config: Config, image: string): CleanupStep[] {
  const isWanted = config.providers.get(upload.provider)?.images?.diskimages.has(image) === true;
  if (upload.state === 'uploading') return [{ step: 'forget-upload', upload }];
  return isWanted && upload.state === 'ready' ? [] : [{ step: 'delete-upload', upload }];
}

function removalStep(upload: UploadRecord): CleanupStep {
  return upload.state === 'uploading' ? { step: 'forget-upload', upload } : { step: 'delete-upload', upload };
}
