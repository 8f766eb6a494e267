import { listBuildFiles, removeBuildFiles, removeFormat, type BuildFiles } from '../files/image-files.js';
import { buildPath, type ImageEntry } from '@nodepool/zk-protocol';
import type { Config } from '@nodepool/core';
import { isListedUnserved } from '../plan/unserved-images.js';
import type { Surroundings } from '../context/surroundings.js';

/**
 * Removes files of deleted builds, and with `delete-after-upload` the formats that every provider has. Keeps the files of a
 * build in use.
 */
export async function cleanLocalFiles(
  surroundings: Surroundings,
  isInUse: (buildId: string) => boolean,
): Promise<void> {
  const { imagesDir, tree, logger } = surroundings;
  for (const files of (await listBuildFiles(imagesDir)).values()) {
    if (isInUse(files.buildId)) continue;
    const entry = tree.images.get(files.image);
    const build = entry?.builds.get(files.buildId);
    if (!build && (await isRecorded(surroundings, files))) continue;
    if (!build || build.state === 'deleting' || build.state === 'failed') {
      logger.info('Removing files of a deleted build', { image: files.image, build: files.buildId });
      await removeBuildFiles(imagesDir, files);
    } else if (entry && build.state === 'ready') {
      for (const format of superfluousFormats(surroundings.config(), entry, files))
        await removeFormat(imagesDir, files, format);
    }
  }
}

/** Whether there is a record that is not cached yet or cannot be decoded; then the files stay. */
async function isRecorded({ zk }: Surroundings, { image, buildId }: BuildFiles): Promise<boolean> {
  return (await zk.exists(buildPath(image, buildId))) !== undefined;
}

/** Formats that are no longer needed on disk: none while the image is for a provider whose format is not known. */
export function superfluousFormats(config: Config, entry: ImageEntry, files: BuildFiles): string[] {
  const image = config.diskimages.get(entry.name);
  if (!image?.deleteAfterUpload || isListedUnserved(config, entry.name)) return [];
  const needed = new Set(image.keepFormats);
  for (const { name, images } of config.providers.values()) {
    if (!images?.diskimages.has(entry.name)) continue;
    const isThere = [...entry.uploads.values()].some(
      ({ buildId, provider, state }) => buildId === files.buildId && provider === name && state === 'ready',
    );
    if (!isThere) needed.add(images.format);
  }
  return [...files.formats].filter((format) => !needed.has(format));
}
