import type { BuildRecord, ImageEntry, UploadRecord } from '@nodepool/zk-protocol';
import { isInService, trialOf } from './trial.js';

/** Uploads of an image in one provider between which launches choose. */
export interface UploadPick {
  /** The upload in service. */
  readonly upload: UploadRecord;
  /** A newer upload on trial, with its build. */
  readonly trial?: { readonly upload: UploadRecord; readonly build: BuildRecord };
}

/**
 * Ready uploads of an image in a provider, the one that serves first: the newest by the time at which its builder completed it, as
 * the original does, with uploads of builds in deletion last. Of the same time the greater ids, so that all launchers agree.
 */
export function servingFirst(entry: ImageEntry | undefined, provider: string): UploadRecord[] {
  return [...(entry?.uploads.values() ?? [])]
    .filter((upload) => upload.provider === provider && upload.state === 'ready')
    .sort(
      (a, b) =>
        rankIn(entry, a) - rankIn(entry, b) || b.stateTimeMs - a.stateTimeMs || (placeOf(a) < placeOf(b) ? 1 : -1),
    );
}

/**
 * Picks the uploads of an image for launches in a provider. Until a node of the newest build became ready there, the newest upload of
 * another build serves, preferably of one in service there. A new build without an alternative is in service at once.
 */
export function pickUploads(entry: ImageEntry | undefined, provider: string): UploadPick | undefined {
  const [newest, ...older] = servingFirst(entry, provider);
  if (!entry || !newest) return undefined;
  const build = entry.builds.get(newest.buildId);
  if (!build || isInService(build, provider)) return { upload: newest };
  const others = older.filter(({ buildId }) => buildId !== newest.buildId);
  const upload = others.find((one) => isKnownGood(entry.builds.get(one.buildId), provider)) ?? others[0];
  if (!upload) return { upload: newest };
  return trialOf(build)?.refused === null ? { upload, trial: { upload: newest, build } } : { upload };
}

/** Whether new launches use an upload. During a trial both builds serve. */
export function isServing(entry: ImageEntry, { provider, buildId, id }: UploadRecord): boolean {
  const { upload, trial } = pickUploads(entry, provider) ?? {};
  return [upload, trial?.upload].some((one) => one?.buildId === buildId && one.id === id);
}

const rankIn = (entry: ImageEntry | undefined, { buildId }: UploadRecord): number =>
  entry?.builds.get(buildId)?.state === 'deleting' ? 1 : 0;
const placeOf = ({ buildId, id }: UploadRecord): string => `${id} ${buildId}`;

/** A build without a record predates trials, and counts as good. */
const isKnownGood = (build: BuildRecord | undefined, provider: string): boolean =>
  build === undefined || isInService(build, provider);
