import type { Config } from '@nodepool/core';
import { isInService, readyBuilds, readyUploads } from '@nodepool/core/service';
import type { BuildRecord, ImageEntry, UploadRecord } from '@nodepool/zk-protocol';
import { isConfigured, isForUnserved } from './unserved-images.js';
import { begunUpload, wantedUploads } from './plan-uploads.js';

/** One step of a cleanup. Each is idempotent and runs under the locks of the data model. */
export type CleanupStep =
  /** Deletes the record of an upload without a builder if the upload lock is free. */
  | { readonly step: 'forget-upload'; readonly upload: UploadRecord }
  /** Deletes the image in the cloud, then the record. */
  | { readonly step: 'delete-upload'; readonly upload: UploadRecord }
  /** Marks a build that may still be in progress as `deleting` if the build lock is free. */
  | { readonly step: 'retire-interrupted-build'; readonly build: BuildRecord }
  /** Marks the build as `deleting`. */
  | { readonly step: 'retire-build'; readonly build: BuildRecord }
  /** Deletes the record of a build without uploads. */
  | { readonly step: 'delete-build'; readonly build: BuildRecord };

/** Builds to keep per image: the current and the previous one. */
const KEPT_BUILDS = 2;
/** Uploads to keep per image and provider: the current and the previous one. */
const KEPT_UPLOADS = 2;

/** Retention of the last failed build of an image, for inspection. */
const FAILED_STAYS_MS = 3_600_000;

/** Extra key of a build record that was marked `deleting` because its builder seemed dead. */
export const RETIRED_KEY = 'retired';

/** An old build that cannot be deleted because a provider of its uploads is not configured. */
export interface PinnedBuild {
  readonly build: BuildRecord;
  readonly provider: string;
  readonly reason: string;
}

/** Finds old builds that are kept only by uploads to providers missing from the configuration. */
export function pinnedBuilds(config: Config, entry: ImageEntry): PinnedBuild[] {
  const isBuilt = config.diskimages.get(entry.name)?.abstract === false;
  const keep = new Set(isBuilt ? keptBuilds(entry).map(({ id }) => id) : []);
  return [...entry.builds.values()].flatMap((build) => {
    const uploads = [...entry.uploads.values()].filter(({ buildId }) => buildId === build.id);
    const unknown = [...new Set(uploads.map(({ provider }) => provider))].filter((name) => !isConfigured(config, name));
    if (keep.has(build.id) || build.state === 'building') return [];
    return unknown.map((provider) => ({ build, provider, reason: whyPinned(provider) }));
  });
}

const whyPinned = (provider: string): string =>
  `provider "${provider}" has an upload of it and is not in the configuration: configure the provider with "diskimages: []" ` +
  `until its uploads are gone, or run "nodepool erase ${provider}"`;

/**
 * Plans the cleanup of one image. Uploads come before their build, as the data model requires. Builds of an
 * image that is only for providers whose driver is missing are retired by the builder that has the driver.
 */
export function planCleanup(config: Config, entry: ImageEntry, nowMs: number): CleanupStep[] {
  const isBuilt = config.diskimages.get(entry.name)?.abstract === false;
  const keep = new Set(isBuilt ? keptBuilds(entry).map(({ id }) => id) : []);
  const failure = isBuilt ? lastFailure(entry, nowMs) : undefined;
  if (failure) keep.add(failure.id);
  const stays = new Set([...recentUploads(config, entry), ...continuedUploads(config, entry)]);
  const steps = [...entry.builds.values()].flatMap((build) => stepsFor(build, config, entry, keep, stays));
  return isForUnserved(config, entry.name) ? steps.filter(({ step }) => !step.startsWith('retire-')) : steps;
}

/** Newest builds and, while they are on trial, the build in service. */
function keptBuilds(entry: ImageEntry): BuildRecord[] {
  const builds = readyBuilds(entry);
  const serving = builds.find((build) => isInService(build));
  return [...builds.slice(0, KEPT_BUILDS), ...(serving ? [serving] : [])];
}

/** The last failed build if it failed recently and no newer build is ready. */
function lastFailure(entry: ImageEntry, nowMs: number): BuildRecord | undefined {
  const [newest] = readyBuilds(entry);
  const sinceMs = Math.max(newest?.stateTimeMs ?? 0, nowMs - FAILED_STAYS_MS);
  const failed = [...entry.builds.values()].filter(
    ({ state, stateTimeMs }) => state === 'failed' && stateTimeMs > sinceMs,
  );
  return failed.sort((a, b) => b.stateTimeMs - a.stateTimeMs)[0];
}

/** Uploads that are the current or previous image of a provider. They keep even an old build. */
function recentUploads(config: Config, entry: ImageEntry): ReadonlySet<UploadRecord> {
  const recent = new Set<UploadRecord>();
  for (const { name, images } of config.providers.values()) {
    if (!images?.diskimages.has(entry.name)) continue;
    const uploads = readyUploads(entry, name);
    const serving = uploads.find(({ buildId }) => {
      const build = entry.builds.get(buildId);
      return build !== undefined && isInService(build, name);
    });
    for (const upload of [...uploads.slice(0, KEPT_UPLOADS), ...(serving ? [serving] : [])]) recent.add(upload);
  }
  return recent;
}

/** Uploads that have begun and are still wanted: a builder that has the file continues them. */
function continuedUploads(config: Config, entry: ImageEntry): UploadRecord[] {
  const wanted = wantedUploads(config, new Map([[entry.name, entry]]));
  return wanted.flatMap((upload) => begunUpload(entry, upload) ?? []);
}

function stepsFor(
  build: BuildRecord,
  config: Config,
  entry: ImageEntry,
  keep: ReadonlySet<string>,
  stays: ReadonlySet<UploadRecord>,
): CleanupStep[] {
  const uploads = [...entry.uploads.values()].filter(({ buildId }) => buildId === build.id);
  const managed = uploads.filter(({ provider }) => config.providers.get(provider)?.images !== undefined);
  if (build.state !== 'deleting') {
    if (keep.has(build.id)) return managed.flatMap((upload) => cruftStep(upload, config, stays));
    if (build.state === 'building') return [{ step: 'retire-interrupted-build', build }];
  }
  const removable = build.state === 'deleting' ? managed : managed.filter((upload) => !stays.has(upload));
  const steps = removable.map((upload): CleanupStep => removalStep(upload));
  const left = uploads.filter((upload) => !removable.includes(upload));
  if (build.state !== 'deleting' && left.every(({ state }) => state === 'deleting')) {
    steps.push({ step: 'retire-build', build });
  }
  if (build.state === 'deleting' && uploads.length === 0) steps.push({ step: 'delete-build', build });
  return steps;
}

/** Plans the cleanup of an upload whose build is kept: unwanted, failed, or left by a dead builder. */
function cruftStep(upload: UploadRecord, config: Config, stays: ReadonlySet<UploadRecord>): CleanupStep[] {
  const isWanted = config.providers.get(upload.provider)?.images?.diskimages.has(upload.image) === true;
  if (upload.state === 'uploading') return stays.has(upload) ? [] : [{ step: 'forget-upload', upload }];
  return isWanted && upload.state === 'ready' ? [] : [{ step: 'delete-upload', upload }];
}

function removalStep(upload: UploadRecord): CleanupStep {
  return upload.state === 'uploading' ? { step: 'forget-upload', upload } : { step: 'delete-upload', upload };
}
