import type { Config } from '@nodepool/core';
import type { ImageEntry } from '@nodepool/zk-protocol';
import { pinnedBuilds } from './plan-cleanup.js';
import { pausedUploads } from './plan-uploads.js';

/** Work that cannot begin. */
export interface WaitingWork {
  readonly image: string;
  /** Set for uploads, as the build is. */
  readonly provider?: string;
  readonly build?: { readonly id: string };
  readonly reason: string;
  /** Of a build; an upload waits for a file that is gone. */
  readonly cause?: 'WorkersBusy' | 'NoSpace' | 'Error';
  readonly sinceMs: number;
  /** The build should be removed and is kept. */
  readonly isKept?: true;
}

/** What configuration and records alone say: uploads that are paused, and old builds that cannot be removed. */
export function waitingRecords(config: Config, images: ReadonlyMap<string, ImageEntry>, nowMs: number): WaitingWork[] {
  const paused = pausedUploads(config, images).map((one) => ({ ...one, sinceMs: one.build.stateTimeMs }));
  const pinned = [...images.values()].flatMap((entry) =>
    pinnedBuilds(config, entry, nowMs).map(
      (one) => ({ ...one, image: entry.name, sinceMs: one.build.stateTimeMs, isKept: true }) as const,
    ),
  );
  return [...paused, ...pinned];
}
