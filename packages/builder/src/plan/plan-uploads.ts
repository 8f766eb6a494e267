import type { Config } from '@nodepool/core';
import { failedTests } from '@nodepool/core/service';
import type { BuildRecord, ImageEntry } from '@nodepool/zk-protocol';
import { imageBase } from '../files/image-files.js';
import { readyBuilds } from './newest-builds.js';
import { convertibleFrom } from './wanted-formats.js';

/** One build to bring into one provider. */
export interface PlannedUpload {
  readonly provider: string;
  readonly build: BuildRecord;
  /** Format of the provider's images. */
  readonly format: string;
  /** Set when this format has to be made first, from a file of another one. */
  readonly convertFrom?: string;
}

/** Formats of the image files on this builder's disk, by {@link imageBase}. */
export type LocalBuilds = ReadonlyMap<string, ReadonlySet<string>>;

/** A build that a provider should have and does not get. */
export interface MissingFile {
  readonly provider: string;
  readonly image: string;
  readonly build: BuildRecord;
  /** What happened and what helps. */
  readonly reason: string;
}

interface WantedUpload {
  readonly provider: string;
  readonly image: string;
  readonly build: BuildRecord;
  readonly format: string;
}

/** The newest ready build of each image for each provider that lists the image and does not have that build yet. */
function wantedUploads(config: Config, images: ReadonlyMap<string, ImageEntry>): WantedUpload[] {
  return [...config.providers.values()].flatMap(({ name: provider, images: wanted }) =>
    [...(wanted?.diskimages.values() ?? [])].flatMap(({ name: image, pause }) => {
      const entry = images.get(image);
      const [build] = readyBuilds(entry);
      if (!wanted || pause || !entry || !build || isUploaded(entry, build.id, provider)) return [];
      if (failedTests(build).has(provider)) return [];
      return [{ provider, image, build, format: wanted.format }];
    }),
  );
}

/** The uploads that this builder should make: those whose files are here. */
export function planUploads(
  config: Config,
  images: ReadonlyMap<string, ImageEntry>,
  local: LocalBuilds,
): PlannedUpload[] {
  return wantedUploads(config, images).flatMap(({ provider, image, build, format }): PlannedUpload[] => {
    const files = local.get(imageBase(image, build.id));
    if (files?.has(format)) return [{ provider, build, format }];
    const convertFrom = convertibleFrom(files ?? [], format);
    return convertFrom === undefined ? [] : [{ provider, build, format, convertFrom }];
  });
}

/** Newest builds that a provider does not get, as its configuration pauses the image. */
export function pausedUploads(config: Config, images: ReadonlyMap<string, ImageEntry>): MissingFile[] {
  const reason = 'paused in the configuration (pause of the image in the provider)';
  return [...config.providers.values()].flatMap(({ name: provider, images: wanted }) =>
    [...(wanted?.diskimages.values() ?? [])].flatMap(({ name: image, pause }) => {
      const entry = images.get(image);
      const [build] = readyBuilds(entry);
      return pause && entry && build && !isUploaded(entry, build.id, provider)
        ? [{ provider, image, build, reason }]
        : [];
    }),
  );
}

/** Uploads that cannot be made before a new build: this builder made the build, and has no file of it that serves. */
export function missingFiles(
  config: Config,
  images: ReadonlyMap<string, ImageEntry>,
  local: LocalBuilds,
  builderId: string,
): MissingFile[] {
  return wantedUploads(config, images).flatMap(({ provider, image, build, format }): MissingFile[] => {
    const files = local.get(imageBase(image, build.id));
    const isHere = files?.has(format) === true || convertibleFrom(files ?? [], format) !== undefined;
    if (isHere || build.builderId !== builderId) return [];
    const why = config.diskimages.get(image)?.deleteAfterUpload === true ? 'delete-after-upload' : 'not in images-dir';
    const reason = `the ${format} file of build ${build.id} is gone (${why}): run "nodepool image-build ${image}"`;
    return [{ provider, image, build, reason }];
  });
}

function isUploaded({ uploads }: ImageEntry, buildId: string, provider: string): boolean {
  for (const upload of uploads.values()) {
    if (upload.buildId === buildId && upload.provider === provider && upload.state === 'ready') return true;
  }
  return false;
}
