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
import { withFailedTest } from './failed-tests.js';
import { readyBuilds } from './newest-builds.js';

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
    ...readyUploads(entry, bad).map((upload) => retirement(upload, nowMs)),
    setBuild(withBuild(bad, { state: 'deleting' }, nowMs)),
  ];
}

/**
 * Takes a build out of service in one provider, where builders do not upload it again. A build that is left nowhere, and that no newer
 * one replaces, is withdrawn as a whole.
 */
export function withdrawalFrom(
  provider: string,
  entry: ImageEntry,
  bad: BuildRecord,
  reason: string,
  nowMs: number,
): Operation[] {
  const uploads = readyUploads(entry, bad);
  const here = uploads.filter((upload) => upload.provider === provider);
  if (here.length === uploads.length && readyBuilds(entry)[0]?.id === bad.id) {
    return withdrawal(entry, bad, `build ${bad.id} was withdrawn: ${reason}`, nowMs);
  }
  return [...here.map((upload) => retirement(upload, nowMs)), setBuild(withFailedTest(bad, provider, reason))];
}

/** Stores a build, if its record has not changed. */
export function setBuild(build: BuildRecord): Operation {
  const { image, id, stat } = build;
  return { op: 'set', path: buildPath(image, id), data: encodeBuild(build), version: stat?.version ?? -1 };
}

/** Providers that would have no image without the build. */
export function providersWithout(entry: ImageEntry, bad: BuildRecord): string[] {
  const others = [...entry.uploads.values()].filter(({ buildId, state }) => buildId !== bad.id && state === 'ready');
  const served = new Set(others.map(({ provider }) => provider));
  return readyUploads(entry, bad).flatMap(({ provider }) => (served.has(provider) ? [] : [provider]));
}

function retirement(upload: UploadRecord, nowMs: number): Operation {
  const { image, buildId, provider, id, stat } = upload;
  const data = encodeUpload(withUpload(upload, { state: 'deleting' }, nowMs));
  return { op: 'set', path: uploadPath(image, buildId, provider, id), data, version: stat?.version ?? -1 };
}

function readyUploads({ uploads }: ImageEntry, build: BuildRecord): UploadRecord[] {
  return [...uploads.values()].filter(({ buildId, state }) => buildId === build.id && state === 'ready');
}
