import type { BuildRecord, ImageEntry, UploadRecord } from '@nodepool/zk-protocol';
import { canaryOf, isInService, shareOf, type Canary } from './trial.js';

/** Uploads of an image in one provider between which launches choose. */
export interface UploadPick {
  /** The upload in service. */
  readonly upload: UploadRecord;
  /** A newer upload on trial, with its build. */
  readonly canary?: { readonly upload: UploadRecord; readonly build: BuildRecord; readonly state: Canary };
}

/**
 * Picks the uploads of an image for launches in a provider: the newest ready one by the time at which its builder completed it, as the
 * original does, with uploads of builds in deletion last. Of the same time the greater ids, so that all launchers agree. And, while its build is on trial, the newest upload of
 * another build, preferably one in service. A new build without an alternative is in service at once.
 */
export function pickUploads(entry: ImageEntry | undefined, provider: string, nowMs: number): UploadPick | undefined {
  const ready = [...(entry?.uploads.values() ?? [])]
    .filter((upload) => upload.provider === provider && upload.state === 'ready')
    .sort(
      (a, b) =>
        rankIn(entry, a) - rankIn(entry, b) || b.stateTimeMs - a.stateTimeMs || (placeOf(a) < placeOf(b) ? 1 : -1),
    );
  const [newest] = ready;
  if (!entry || !newest) return undefined;
  const build = entry.builds.get(newest.buildId);
  const state = build && canaryOf(build, nowMs);
  if (!build || !state || shareOf(state, provider) === 100) return { upload: newest };
  const others = ready.filter(({ buildId }) => buildId !== newest.buildId);
  const upload = others.find(({ buildId }) => isKnownGood(entry.builds.get(buildId), nowMs)) ?? others[0];
  return upload ? { upload, canary: { upload: newest, build, state } } : { upload: newest };
}

/** Whether new launches use an upload. During a trial both builds serve, unless the new one is held back. */
export function isServing(entry: ImageEntry, { provider, buildId, id }: UploadRecord, nowMs: number): boolean {
  const { upload, canary } = pickUploads(entry, provider, nowMs) ?? {};
  const tried = canary && shareOf(canary.state, provider) !== 0 ? canary.upload : undefined;
  return [upload, tried].some((one) => one?.buildId === buildId && one.id === id);
}

const rankIn = (entry: ImageEntry | undefined, { buildId }: UploadRecord): number =>
  entry?.builds.get(buildId)?.state === 'deleting' ? 1 : 0;
const placeOf = ({ buildId, id }: UploadRecord): string => `${id} ${buildId}`;

/** A build without a record predates trials, and counts as good. */
function isKnownGood(build: BuildRecord | undefined, nowMs: number): boolean {
  return build === undefined || isInService(build, nowMs);
}
