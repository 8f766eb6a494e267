import type { Config } from '@nodepool/core';
import type { DiskimageConfig } from '@nodepool/core/config';

/** Formats that can be made from each other without building again. */
const CONVERTIBLE = new Set(['qcow2', 'raw', 'vpc', 'vmdk', 'vdi', 'vhdx']);

/** Formats to build of an image: its own and those of all providers that list it, sorted. Empty: it is not built. */
export function wantedFormats(config: Config, image: string): string[] {
  const formats = new Set(config.diskimages.get(image)?.formats);
  for (const { images } of config.providers.values()) if (images?.diskimages.has(image)) formats.add(images.format);
  return [...formats].sort();
}

/** The format from which the wanted one is made; `undefined`: it cannot be made from these. */
export function convertibleFrom(formats: Iterable<string>, wanted: string): string | undefined {
  if (!CONVERTIBLE.has(wanted)) return undefined;
  return [...formats].sort().find((format) => CONVERTIBLE.has(format));
}

/**
 * Whether a build without the format serves: uploads convert its files to the format of their provider. With
 * `delete-after-upload` only the files of `keep-formats` are certain to be there.
 */
export function isMadeByUpload(
  config: Config,
  { name, deleteAfterUpload, keepFormats }: DiskimageConfig,
  built: readonly string[],
  format: string,
): boolean {
  const isForProvider = [...config.providers.values()].some(
    ({ images }) => images?.format === format && images.diskimages.has(name),
  );
  const kept = deleteAfterUpload ? built.filter((one) => keepFormats.includes(one)) : built;
  return isForProvider && convertibleFrom(kept, format) !== undefined;
}
