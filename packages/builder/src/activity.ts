import type { Config } from '@nodepool/core';
import {
  durationOf,
  newestPercent,
  sizesOf,
  withdrawnNote,
  type ImageActivity,
  readyBuilds,
  pickUploads,
} from '@nodepool/core/service';
import type { ImageEntry, ImageTree } from '@nodepool/zk-protocol';
import type { Progress } from './context/progress.js';

/** Number of failed uploads of an image to a provider since the last successful one. */
export type FailuresOf = (image: string, provider: string) => number;

/** Describes the work of this builder on each configured image, for metrics. */
export function describeActivity(
  config: Config,
  tree: ImageTree,
  running: { readonly builds: readonly Progress[]; readonly uploads: readonly Progress[] },
  failuresOf: FailuresOf,
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
      ...standingOf(entry),
      newest: newestOf(entry),
      servedMs: new Map(wantingProviders(config, name).map(({ provider }) => [provider, servedMs(entry, provider)])),
      uploads: new Map(
        wantingProviders(config, name).map(({ provider, pause }) => {
          const isUploading = running.uploads.some((upload) => upload.image === name && upload.provider === provider);
          return [provider, isUploading ? 'uploading' : pause ? 'paused' : 'idle'];
        }),
      ),
      failures: new Map(wantingProviders(config, name).map(({ provider }) => [provider, failuresOf(name, provider)])),
    };
  });
}

function standingOf(entry: ImageEntry | undefined) {
  return {
    newestPercent: entry ? newestPercent(entry) : 100,
    isWithdrawn: entry !== undefined && withdrawnNote(entry) !== undefined,
  };
}

function newestOf(entry: ImageEntry | undefined): ImageActivity['newest'] {
  const [build] = readyBuilds(entry);
  return build && { builtMs: build.stateTimeMs, seconds: durationOf(build), sizes: sizesOf(build) ?? {} };
}

/** Of the build in service. A newer one on trial does not count until it replaces that. */
function servedMs(entry: ImageEntry | undefined, provider: string): number {
  const upload = pickUploads(entry, provider)?.upload;
  return (upload && entry?.builds.get(upload.buildId)?.stateTimeMs) ?? 0;
}

function wantingProviders({ providers }: Config, image: string) {
  return [...providers.values()].flatMap(({ name: provider, images }) => {
    const wanted = images?.diskimages.get(image);
    return wanted ? [{ provider, pause: wanted.pause }] : [];
  });
}

/** Reports the activity of images once for all changes in one turn of the event loop. */
export class ActivityReport {
  readonly #report: () => void;
  #isDue = false;

  /** @param report - called at the end of the turn */
  constructor(report: () => void) {
    this.#report = report;
  }

  /** Schedules a report after a change. */
  soon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      this.#report();
    });
  }
}
