import type { BuildRecord, ImageEntry } from '@nodepool/zk-protocol';

/** Builds of an image that are ready, the newest first. */
export function newestBuilds(entry: ImageEntry | undefined): BuildRecord[] {
  const ready = [...(entry?.builds.values() ?? [])].filter(({ state }) => state === 'ready');
  return ready.sort((a, b) => b.stateTimeMs - a.stateTimeMs || (a.id < b.id ? 1 : -1));
}
