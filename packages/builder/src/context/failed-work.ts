import { formatAge, type ImageWork } from '@nodepool/core/service';

/** A build or an upload that has failed and is tried again. Times in ms since the epoch. */
export interface FailedWork {
  readonly image: string;
  /** Empty for a build: the next try is another one. */
  readonly buildId: string;
  /** `null` for a build. */
  readonly provider: string | null;
  readonly attempts: number;
  readonly error: string;
  readonly failedMs: number;
  readonly nextTryMs: number;
}

/** When work on an image is tried again, and how to hasten it. */
export const nextTryText = (image: string, nextTryMs: number, nowMs: number): string =>
  `next try in ${formatAge(Math.max(0, nextTryMs - nowMs))}; at once with "nodepool image-build ${image}"`;

/** Failed work in the form of the web. @param builder - full name of this host */
export function failedToImageWork(failed: FailedWork, builder: string, nowMs: number): ImageWork {
  const { image, buildId, provider, attempts, error, failedMs: startedMs, nextTryMs } = failed;
  const times = attempts === 1 ? '' : `${attempts} times, `;
  const next = `${times}${nextTryText(image, nextTryMs, nowMs)}`;
  return {
    ...{ image, buildId, builder, provider, phase: 'waiting', startedMs, sent: null, expectedMs: null },
    error: `${error} (${next})`,
  };
}
