import type { Config } from '@nodepool/core';
import type { ImageActivity } from '@nodepool/core/service';
import type { ImageTree } from '@nodepool/zk-protocol';
import type { Progress } from './context/progress.js';

/** What this builder does about each configured image, for metrics. */
export function describeActivity(
  config: Config,
  tree: ImageTree,
  running: { readonly builds: readonly Progress[]; readonly uploads: readonly Progress[] },
): ImageActivity[] {
  const images = [...config.diskimages.values()].filter(({ abstract }) => !abstract);
  return images.map(({ name, pause }) => {
    const entry = tree.images.get(name);
    const isBuilding = running.builds.some(({ image }) => image === name);
    const isPaused = pause || entry?.paused === true;
    return {
      image: name,
      isBuildRequested: entry?.buildRequestedMs !== undefined,
      build: isBuilding ? 'building' : isPaused ? 'paused' : 'idle',
      uploads: new Map(
        [...config.providers.values()].flatMap(({ name: provider, images: wanted }) => {
          const image = wanted?.diskimages.get(name);
          if (!image) return [];
          const isUploading = running.uploads.some((upload) => upload.image === name && upload.provider === provider);
          return [[provider, isUploading ? 'uploading' : image.pause ? 'paused' : 'idle'] as const];
        }),
      ),
    };
  });
}

/** Tells of what images are doing, once for all that happens in one turn of the event loop. */
export class ActivityReport {
  readonly #tell: () => void;
  #isDue = false;

  /** @param tell - called at the end of the turn */
  constructor(tell: () => void) {
    this.#tell = tell;
  }

  /** Something changed. */
  soon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      this.#tell();
    });
  }
}
