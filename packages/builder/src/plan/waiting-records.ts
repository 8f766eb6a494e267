import type { Config } from '@nodepool/core';
import type { ImageEntry } from '@nodepool/zk-protocol';
import { pinnedBuilds } from './plan-cleanup.js';
import { pausedUploads, type MissingFile } from './plan-uploads.js';
import { isForUnserved } from './unserved-images.js';
import { wantedFormats } from './wanted-formats.js';

/** Work that is waiting and the reason. */
export interface WaitingWork {
  readonly image: string;
  /** Set for uploads, like the build. */
  readonly provider?: string;
  readonly build?: { readonly id: string };
  readonly reason: string;
  /** Cause for a waiting build or upload; an old build that is kept has none. */
  readonly cause?: 'WorkersBusy' | 'NoSpace' | 'Error' | MissingFile['cause'];
  readonly sinceMs: number;
  /** When it is tried again without a change, if it is. */
  readonly nextTryMs?: number | undefined;
  /** The build is due for deletion but must be kept. */
  readonly isKept?: true;
}

/** Finds waiting work that follows from configuration and records alone: paused uploads and pinned old builds. */
export function waitingRecords(config: Config, images: ReadonlyMap<string, ImageEntry>): WaitingWork[] {
  const paused = pausedUploads(config, images).map((one) => ({ ...one, sinceMs: one.build.stateTimeMs }));
  const pinned = [...images.values()].flatMap((entry) =>
    pinnedBuilds(config, entry).map(
      (one) => ({ ...one, image: entry.name, sinceMs: one.build.stateTimeMs, isKept: true }) as const,
    ),
  );
  return [...paused, ...pinned];
}

/**
 * Images that this builder does not build for lists: because of its configuration, or the
 * builder starts no work, which is a condition of its own.
 * @param problem - why it starts no work; `undefined`: it does
 */
export function unbuiltImages(config: Config, problem: string | undefined, nowMs: number): WaitingWork[] {
  return [...config.diskimages.values()].flatMap(({ name: image, abstract, pause }) => {
    if (abstract || isForUnserved(config, image)) return [];
    const isUnused = wantedFormats(config, image).length === 0;
    const unused = isUnused ? 'no provider lists it in its diskimages, and it has no formats of its own' : undefined;
    const reason = problem ?? (pause ? 'the configuration pauses it (pause: true)' : unused);
    return reason === undefined ? [] : [{ image, reason, sinceMs: nowMs }];
  });
}
