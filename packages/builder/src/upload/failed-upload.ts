import type { ImageWork } from '@nodepool/core/service';

/** An upload that has failed and is tried again. Times in ms since the epoch. */
export interface FailedUpload {
  readonly image: string;
  readonly buildId: string;
  readonly provider: string;
  readonly attempts: number;
  readonly error: string;
  readonly failedMs: number;
  readonly nextTryMs: number;
}

/** The same in the form of the web. @param builder - full name of this host */
export function failedUploadToWork(upload: FailedUpload, builder: string): ImageWork {
  const { image, buildId, provider, error, failedMs: startedMs } = upload;
  return { image, buildId, builder, provider, phase: 'waiting', startedMs, sent: null, expectedMs: null, error };
}
