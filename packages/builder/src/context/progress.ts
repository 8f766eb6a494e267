import type { ImageWork } from '@nodepool/core/service';
import type { WaitingWork } from '../plan/waiting-records.js';

/** Progress of a build or upload. */
export interface Progress {
  readonly image: string;
  readonly buildId: string;
  readonly startedMs: number;
  /** Phase of a build, e.g. `root` or `convert`; of an upload `hook`, `uploading` ... */
  phase: string;
  /** It waits and needs no worker. */
  readonly isIdle?: true;
  /** Set for uploads. */
  readonly provider?: string;
  readonly uploadId?: string;
  sentBytes?: number;
  totalBytes?: number;
  /** Of an upload, over its whole time. */
  bytesPerSecond?: number;
  /** Of an upload, at that rate. */
  secondsLeft?: number;
}

/** The same in the form of the web. @param builder - full name of this host */
export function waitingToWork(waiting: WaitingWork, builder: string): ImageWork {
  const { image, provider = null, build, reason, sinceMs, isKept } = waiting;
  const phase = isKept === true ? 'kept' : 'blocked';
  return {
    ...{ image, buildId: build?.id ?? '', builder, provider, phase, startedMs: sinceMs },
    ...{ sent: null, expectedMs: null, error: reason },
  };
}

/**
 * The same in the form of the web.
 * @param builder - full name of this host
 * @param expectedMs - how long the last good build took; `undefined`: not known
 */
export function toImageWork(progress: Progress, builder: string, expectedMs?: number): ImageWork {
  const { image, buildId, startedMs, phase, provider = null, sentBytes, totalBytes, bytesPerSecond } = progress;
  const isSending = sentBytes !== undefined && totalBytes !== undefined && bytesPerSecond !== undefined;
  const { secondsLeft = null } = progress;
  const sent = isSending ? { bytes: sentBytes, totalBytes, bytesPerSecond, secondsLeft } : null;
  return {
    ...{ image, buildId, builder, provider, phase, startedMs, sent },
    expectedMs: provider === null ? (expectedMs ?? null) : null,
    error: null,
  };
}
