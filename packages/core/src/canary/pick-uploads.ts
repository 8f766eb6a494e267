import type { BuildRecord, ImageEntry, UploadRecord } from '@nodepool/zk-protocol';
import { canaryOf, isInService, shareOf, type Canary } from './canary.js';

/** Uploads of an image in one provider between which launches choose. */
export interface UploadPick {
  /** The upload in service. */
  readonly upload: UploadRecord;
  /** A newer upload on trial, with its build. */
  readonly canary?: { readonly upload: UploadRecord; readonly build: BuildRecord; readonly state: Canary };
}

/**
 * Picks the uploads of an image for launches in a provider: the newest, and, while its build is on trial, the newest upload of
 * another build, preferably one in service. A new build without an alternative is in service at once.
 */
export function pickUploads(entry: ImageEntry | undefined, provider: string, nowMs: number): UploadPick | undefined {
  const ready = [...(entry?.uploads.values() ?? [])]
    .filter((upload) => upload.provider === provider && upload.state === 'ready')
    .sort((a, b) => b.stateTimeMs - a.stateTimeMs);
  const [newest] = ready;
  if (!entry || !newest) return undefined;
  const build = entry.builds.get(newest.buildId);
  const state = build && canaryOf(build, nowMs);
  if (!build || !state || shareOf(state, provider) === 100) return { upload: newest };
  const others = ready.filter(({ buildId }) => buildId !== newest.buildId);
  const upload = others.find(({ buildId }) => isKnownGood(entry.builds.get(buildId), nowMs)) ?? others[0];
  return upload ? { upload, canary: { upload: newest, build, state } } : { upload: newest };
}

/** A build without a record predates trials, and counts as good. */
function isKnownGood(build: BuildRecord | undefined, nowMs: number): boolean {
  return build === undefined || isInService(build, nowMs);
}
