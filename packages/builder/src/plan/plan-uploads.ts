import type { Config } from '@nodepool/core';
import { failedTests, readyBuilds } from '@nodepool/core/service';
import type { BuildRecord, ImageEntry, UploadRecord } from '@nodepool/zk-protocol';
import { imageBase } from '../files/image-files.js';
import { convertibleFrom } from './wanted-formats.js';

/** An upload of one build to one provider. */
export interface PlannedUpload {
  readonly provider: string;
  readonly build: BuildRecord;
  /** Format of the provider's images. */
  readonly format: string;
  /** Source format for the conversion, if no file of the provider's format exists. */
  readonly convertFrom?: string;
}

/** Formats of the image files on this builder's disk, by {@link imageBase}. */
export type LocalBuilds = ReadonlyMap<string, ReadonlySet<string>>;

/** A build that a provider needs but cannot get. */
export interface MissingFile {
  readonly provider: string;
  readonly image: string;
  readonly build: BuildRecord;
  readonly cause: 'Paused' | 'FileGone' | 'FileDamaged' | 'BuilderGone';
  /** The cause and the remedy, without times. */
  readonly reason: string;
  /** Since when, in ms since the epoch, if that is known. */
  readonly sinceMs?: number;
}

/** What decides which files are out of reach. */
export interface FileSituation {
  /** Id of this builder. */
  readonly builderId: string;
  readonly nowMs: number;
  /** Since when the builder of a build is absent, in ms since the epoch. */
  readonly absentSinceMs: (build: BuildRecord) => number | undefined;
  /** How a file on this builder's disk differs from its build, by {@link imageBase}; such files are not in {@link LocalBuilds}. */
  readonly damage: ReadonlyMap<string, string>;
}

/** A builder that restarts is absent for a moment. */
const ABSENT_MS = 300_000;

/** An upload that a provider should get. */
export interface WantedUpload {
  readonly provider: string;
  readonly image: string;
  readonly build: BuildRecord;
  readonly format: string;
}

/** Newest ready build of each image for each provider that lists the image but does not have the build yet. */
export function wantedUploads(config: Config, images: ReadonlyMap<string, ImageEntry>): WantedUpload[] {
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

/**
 * The newest upload of this kind that has begun and has not ended. If no builder holds its lock, it is continued by the next one that
 * has the file.
 */
export function begunUpload(
  { uploads }: Pick<ImageEntry, 'uploads'>,
  { provider, build, format }: Pick<WantedUpload, 'provider' | 'build' | 'format'>,
): UploadRecord | undefined {
  return [...uploads.values()]
    .filter((upload) => upload.buildId === build.id && upload.provider === provider && upload.state === 'uploading')
    .filter((upload) => upload.format === null || upload.format === format)
    .sort((a, b) => b.id.localeCompare(a.id))[0];
}

/** Plans the uploads of builds whose files are on this builder's disk. */
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

/** Finds the newest builds that are not uploaded because the provider's configuration pauses the image. */
export function pausedUploads(config: Config, images: ReadonlyMap<string, ImageEntry>): MissingFile[] {
  const reason = 'paused in the configuration (pause of the image in the provider)';
  return [...config.providers.values()].flatMap(({ name: provider, images: wanted }) =>
    [...(wanted?.diskimages.values() ?? [])].flatMap(({ name: image, pause }) => {
      const entry = images.get(image);
      const [build] = readyBuilds(entry);
      return pause && entry && build && !isUploaded(entry, build.id, provider)
        ? [{ provider, image, build, cause: 'Paused' as const, reason }]
        : [];
    }),
  );
}

/** Finds uploads that wait, because this builder has no undamaged file of its own build, or another builder is gone with the files. */
export function missingFiles(
  config: Config,
  images: ReadonlyMap<string, ImageEntry>,
  local: LocalBuilds,
  situation: FileSituation,
): MissingFile[] {
  return wantedUploads(config, images).flatMap(({ provider, image, build, format }): MissingFile[] => {
    const files = local.get(imageBase(image, build.id));
    const isHere = files?.has(format) === true || convertibleFrom(files ?? [], format) !== undefined;
    if (isHere) return [];
    if (build.builderId !== situation.builderId) return goneBuilder({ provider, image, build }, situation);
    const damage = situation.damage.get(imageBase(image, build.id));
    if (damage !== undefined) return [{ provider, image, build, cause: 'FileDamaged', reason: damage }];
    const why = config.diskimages.get(image)?.deleteAfterUpload === true ? 'delete-after-upload' : 'not in images-dir';
    const reason = `the ${format} file of build ${build.id} is gone (${why}): run "nodepool image-build ${image}"`;
    return [{ provider, image, build, cause: 'FileGone', reason }];
  });
}

function goneBuilder(
  upload: Pick<MissingFile, 'provider' | 'image' | 'build'>,
  { nowMs, absentSinceMs }: FileSituation,
): MissingFile[] {
  const { image, build } = upload;
  const sinceMs = absentSinceMs(build);
  if (sinceMs === undefined || nowMs - sinceMs < ABSENT_MS) return [];
  const reason =
    `build ${build.id} is on the disk of ${build.builder ?? 'a builder'}, which is not registered: start that builder; ` +
    `otherwise the image is built again an hour after it was missed, or at once with "nodepool image-build ${image}"`;
  return [{ ...upload, cause: 'BuilderGone', reason, sinceMs }];
}

function isUploaded({ uploads }: ImageEntry, buildId: string, provider: string): boolean {
  for (const upload of uploads.values()) {
    if (upload.buildId === buildId && upload.provider === provider && upload.state === 'ready') return true;
  }
  return false;
}
