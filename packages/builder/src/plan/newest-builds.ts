import type { BuildRecord, ImageEntry, UploadRecord } from '@nodepool/zk-protocol';

interface Timed {
  readonly id: string;
  readonly stateTimeMs: number;
}

/** Newest first; of two with one time the greater id, so that all builders agree. */
const newestFirst = (a: Timed, b: Timed): number => b.stateTimeMs - a.stateTimeMs || (a.id < b.id ? 1 : -1);

/** The builds of an image that are ready, newest first. */
export function readyBuilds(entry: ImageEntry | undefined): BuildRecord[] {
  return [...(entry?.builds.values() ?? [])].filter(({ state }) => state === 'ready').sort(newestFirst);
}

/** The uploads of an image to one provider that are ready and whose builds are, newest first. */
export function readyUploads(entry: ImageEntry, provider: string): UploadRecord[] {
  const isBuildReady = ({ buildId }: UploadRecord) => entry.builds.get(buildId)?.state === 'ready';
  return [...entry.uploads.values()]
    .filter((upload) => upload.provider === provider && upload.state === 'ready' && isBuildReady(upload))
    .sort(newestFirst);
}
