import type { Config } from '@nodepool/core';

/** Whether the configuration has the provider, be it one that is not served here. */
export function isConfigured({ providers, unserved }: Config, provider: string): boolean {
  return providers.has(provider) || unserved?.has(provider) === true;
}

/**
 * Whether an image is only for providers whose driver is missing: its builds belong to the builder that has the driver, which
 * would neither build nor upload an image of which another builder has made a recent build.
 */
export function isForUnserved({ providers, unserved }: Config, image: string): boolean {
  const isServed = [...providers.values()].some(({ images }) => images?.diskimages.has(image) === true);
  return !isServed && isListedUnserved({ unserved }, image);
}

/** Whether a provider whose driver is missing lists the image. */
export function isListedUnserved({ unserved }: Pick<Config, 'unserved'>, image: string): boolean {
  return [...(unserved?.values() ?? [])].some(({ diskimages }) => diskimages.has(image));
}
