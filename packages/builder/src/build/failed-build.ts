import { formatAge, type ImageWork } from '@nodepool/core/service';

/** A build that has failed and is tried again. Times in ms since the epoch. */
export interface FailedBuild {
  readonly image: string;
  readonly attempts: number;
  readonly error: string;
  readonly failedMs: number;
  readonly nextTryMs: number;
}

/** A failed build in the form of the web. @param builder - full name of this host */
export function failedBuildToWork({ image, ...failed }: FailedBuild, builder: string, nowMs: number): ImageWork {
  const { attempts, error, failedMs, nextTryMs } = failed;
  const times = attempts === 1 ? '' : `${attempts} times, `;
  const next = `${times}next try in ${formatAge(Math.max(0, nextTryMs - nowMs))}; at once with "nodepool image-build ${image}"`;
  return {
    ...{ image, buildId: '', builder, provider: null, phase: 'waiting', startedMs: failedMs },
    ...{ sent: null, expectedMs: null, error: `${error} (${next})` },
  };
}
