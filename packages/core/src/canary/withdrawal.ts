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
 * Takes a build and its uploads out of service and pauses the image, in one transaction: launchers, old ones too, use the
 * previous build from that moment, and no builder builds the bad one again. The pause says why.
 */
export function withdrawal(entry: ImageEntry, bad: BuildRecord, reason: string, nowMs: number): Operation[] {
  const data = encodePauseReason(reason);
  const path = imagePausePath(bad.image);
  // The pause stands first: then no builder finds the newest build gone and none paused.
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
