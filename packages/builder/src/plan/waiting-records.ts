import type { Config } from '@nodepool/core';
import type { ImageEntry } from '@nodepool/zk-protocol';
import type { WaitingWork } from '../context/progress.js';
import { pinnedBuilds } from './plan-cleanup.js';
import { pausedUploads } from './plan-uploads.js';

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
