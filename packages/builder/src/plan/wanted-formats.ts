import type { Config } from '@nodepool/core';

/** Formats to build of an image: its own and those of all providers that list it, sorted. Empty: it is not built. */
export function wantedFormats(config: Config, image: string): string[] {
  const formats = new Set(config.diskimages.get(image)?.formats);
  for (const { images } of config.providers.values()) if (images?.diskimages.has(image)) formats.add(images.format);
  return [...formats].sort();
}
