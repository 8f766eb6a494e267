import {
  buildPath,
  encodeBuild,
  encodePauseReason,
  encodeUpload,
  imagePausePath,
  uploadPath,
  withBuild,
  withUpload,
  type BuildRecord,
  type ImageEntry,
  type Operation,
  type UploadRecord,
} from '@nodepool/zk-protocol';

/**
 * Takes a build and its uploads out of service and pauses the image, in one transaction. From then on all launchers, old versions
 * too, use the previous build, and no builder rebuilds the bad one. The pause has the reason.
 */
export function withdrawal(entry: ImageEntry, bad: BuildRecord, reason: string, nowMs: number): Operation[] {
  const data = encodePauseReason(reason);
  const path = imagePausePath(bad.image);
  // The pause comes first, so that no builder sees the newest build gone and the image not paused.
  return [
    entry.paused ? { op: 'set', path, data, version: -1 } : { op: 'create', path, data },
    ...readyUploads(entry, bad).map((upload): Operation => {
      const { image, buildId, provider, id, stat } = upload;
      const body = encodeUpload(withUpload(upload, { state: 'deleting' }, nowMs));
      return { op: 'set', path: uploadPath(image, buildId, provider, id), data: body, version: stat?.version ?? -1 };
    }),
    {
      op: 'set',
      path: buildPath(bad.image, bad.id),
      data: encodeBuild(withBuild(bad, { state: 'deleting' }, nowMs)),
      version: bad.stat?.version ?? -1,
    },
  ];
}

/** Providers that would have no image without the build. */
export function providersWithout(entry: ImageEntry, bad: BuildRecord): string[] {
  const others = [...entry.uploads.values()].filter(({ buildId, state }) => buildId !== bad.id && state === 'ready');
  const served = new Set(others.map(({ provider }) => provider));
  return readyUploads(entry, bad).flatMap(({ provider }) => (served.has(provider) ? [] : [provider]));
}

function readyUploads({ uploads }: ImageEntry, build: BuildRecord): UploadRecord[] {
  return [...uploads.values()].filter(({ buildId, state }) => buildId === build.id && state === 'ready');
}
