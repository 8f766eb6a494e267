import type { Config } from '@nodepool/core';
import type { BuildRecord, ImageEntry } from '@nodepool/zk-protocol';
import { imageBase } from '../files/image-files.js';
import { readyBuilds } from './newest-builds.js';

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

/** Formats that can be made from each other without building again. */
const CONVERTIBLE = new Set(['qcow2', 'raw', 'vpc', 'vmdk', 'vdi', 'vhdx']);

/**
 * The uploads that this builder should make: for each provider the newest ready build of each of its images, when its file
 * is here and no upload of it is ready there.
 */
export function planUploads(
  config: Config,
  images: ReadonlyMap<string, ImageEntry>,
  local: LocalBuilds,
): PlannedUpload[] {
  const planned: PlannedUpload[] = [];
  for (const { name: provider, images: wanted } of config.providers.values()) {
    for (const { name, pause } of wanted?.diskimages.values() ?? []) {
      const entry = images.get(name);
      const [build] = readyBuilds(entry);
      if (!wanted || pause || !entry || !build || isUploaded(entry, build.id, provider)) continue;
      const files = local.get(imageBase(name, build.id));
      if (!files) continue;
      const { format } = wanted;
      if (files.has(format)) planned.push({ provider, build, format });
      else if (CONVERTIBLE.has(format)) {
        const convertFrom = [...files].sort().find((other) => CONVERTIBLE.has(other));
        if (convertFrom !== undefined) planned.push({ provider, build, format, convertFrom });
      }
    }
  }
  return planned;
}

function isUploaded({ uploads }: ImageEntry, buildId: string, provider: string): boolean {
  for (const upload of uploads.values()) {
    if (upload.buildId === buildId && upload.provider === provider && upload.state === 'ready') return true;
  }
  return false;
}
