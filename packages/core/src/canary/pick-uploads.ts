import type { BuildRecord, ImageEntry, UploadRecord } from '@nodepool/zk-protocol';
import { canaryOf, isInService, shareOf, type Canary } from './canary.js';

/** Uploads of an image in one provider between which launches choose. */
export interface UploadPick {
  /** The one that serves. */
  readonly upload: UploadRecord;
  /** A newer one that is tried out, with its build. */
  readonly canary?: { readonly upload: UploadRecord; readonly build: BuildRecord; readonly state: Canary };
}

/**
 * The uploads of an image that launches in a provider use: the newest, and while its build is tried out the newest of
 * another build, best of one in service. A new build without any other serves at once.
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

/** An upload whose build is not known is as old as records without the key. */
function isKnownGood(build: BuildRecord | undefined, nowMs: number): boolean {
  return build === undefined || isInService(build, nowMs);
}
