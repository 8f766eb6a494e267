import type { Config } from '@nodepool/core';
import type { DiskimageConfig } from '@nodepool/core/config';

/** Formats that can be converted into each other. */
const CONVERTIBLE = new Set(['qcow2', 'raw', 'vpc', 'vmdk', 'vdi', 'vhdx']);

/** Formats to build for an image: its own and those of all providers that list it, sorted. Empty means no build. */
export function wantedFormats(config: Config, image: string): string[] {
  const formats = new Set(config.diskimages.get(image)?.formats);
  for (const { images } of config.providers.values()) if (images?.diskimages.has(image)) formats.add(images.format);
  return [...formats].sort();
}

/** Source format for converting to the wanted format; `undefined` if no conversion is possible. */
export function convertibleFrom(formats: Iterable<string>, wanted: string): string | undefined {
  if (!CONVERTIBLE.has(wanted)) return undefined;
  return [...formats].sort().find((format) => CONVERTIBLE.has(format));
}

/**
 * Whether uploads can create the format by conversion, so that the build can omit it. With
 * `delete-after-upload` only the files of `keep-formats` are guaranteed to exist.
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
