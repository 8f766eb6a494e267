import type { BuildRecord, ImageEntry, UploadRecord } from '@nodepool/zk-protocol';

interface Timed {
  readonly id: string;
  readonly stateTimeMs: number;
}

/** Newest first. Ties are broken by the greater id, so that all builders agree. */
const newestFirst = (a: Timed, b: Timed): number => b.stateTimeMs - a.stateTimeMs || (a.id < b.id ? 1 : -1);

/** Ready builds of an image, newest first. */
export function readyBuilds(entry: ImageEntry | undefined): BuildRecord[] {
  return [...(entry?.builds.values() ?? [])].filter(({ state }) => state === 'ready').sort(newestFirst);
}

/** Ready uploads of an image's ready builds to one provider, newest first. */
export function readyUploads(entry: ImageEntry, provider: string): UploadRecord[] {
  const isBuildReady = ({ buildId }: UploadRecord) => entry.builds.get(buildId)?.state === 'ready';
  return [...entry.uploads.values()]
    .filter((upload) => upload.provider === provider && upload.state === 'ready' && isBuildReady(upload))
    .sort(newestFirst);
}

/** Whether an image has a build request, or has never been built, and is not paused by a person. */
export function awaitsBuild(entry: ImageEntry | undefined): boolean {
  if (entry?.paused) return false;
  return entry?.buildRequestedMs !== undefined || readyBuilds(entry).length === 0;
}
