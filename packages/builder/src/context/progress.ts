import { formatAge, type ImageWork } from '@nodepool/core/service';
import { nextTryText } from './failed-work.js';
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
  /** Why the last test of the upload failed, if that proves nothing about the image. */
  readonly testFailure?: string | undefined;
  /** Set for uploads. */
  readonly provider?: string;
  readonly uploadId?: string;
  sentBytes?: number;
  totalBytes?: number;
  /** When the cloud took the last bytes; before the first ones, when the upload began. */
  sentAtMs?: number;
  /** Of an upload, in the last 30 s until then. */
  bytesPerSecond?: number;
  /** Of an upload, at that rate. */
  secondsLeft?: number;
}

/** The same in the form of the web. @param builder - full name of this host */
export function waitingToWork(waiting: WaitingWork, builder: string, nowMs: number): ImageWork {
  const { image, provider = null, build, reason, sinceMs, nextTryMs, isKept } = waiting;
  const next = nextTryMs === undefined ? '' : ` (${nextTryText(image, nextTryMs, nowMs)})`;
  const phase = isKept === true ? 'kept' : 'blocked';
  return {
    ...{ image, buildId: build?.id ?? '', builder, provider, phase, startedMs: sinceMs },
    ...{ sent: null, expectedMs: null, error: `${reason}${next}` },
  };
}

/** A cloud that takes no data for so long hangs. */
const QUIET_MS = 20_000;

/** Time over which the rate of an upload is measured. */
const RATE_SECONDS = 30;

const isAllSent = ({ sentBytes, totalBytes }: Progress): boolean => sentBytes !== undefined && sentBytes === totalBytes;

/** What does not happen. Some drivers report no progress, so a missing report does not prove that no data is taken. */
function quietText(progress: Progress): string {
  if (progress.sentBytes === undefined) return 'no progress reported';
  return isAllSent(progress) ? 'all data sent, no answer' : 'no data taken';
}

/** What was sent. The rate sinks while the cloud takes nothing. */
function sentOf(progress: Progress, quietMs: number): ImageWork['sent'] {
  const { sentBytes, totalBytes, bytesPerSecond, secondsLeft = null } = progress;
  if (sentBytes === undefined || totalBytes === undefined || bytesPerSecond === undefined) return null;
  const sent = { bytes: sentBytes, totalBytes, bytesPerSecond, secondsLeft };
  if (quietMs === 0 || bytesPerSecond === 0 || isAllSent(progress)) return sent;
  const recent = Math.min(sentBytes, bytesPerSecond * RATE_SECONDS);
  const rate = Math.round(recent / (recent / bytesPerSecond + quietMs / 1_000));
  const left = rate === 0 ? null : Math.ceil((totalBytes - sentBytes) / rate);
  return { ...sent, bytesPerSecond: rate, secondsLeft: left };
}

/**
 * The same in the form of the web.
 * @param builder - full name of this host
 * @param expectedMs - how long the last good build took; `undefined`: not known
 */
export function toImageWork(progress: Progress, builder: string, nowMs: number, expectedMs?: number): ImageWork {
  const { image, buildId, startedMs, phase, provider = null, sentAtMs = nowMs } = progress;
  const quietMs = nowMs - sentAtMs;
  const isQuiet = quietMs >= QUIET_MS;
  return {
    ...{ image, buildId, builder, provider, startedMs, sent: sentOf(progress, isQuiet ? quietMs : 0) },
    phase: isQuiet ? `${phase}, ${quietText(progress)} for ${formatAge(quietMs)}` : phase,
    expectedMs: provider === null ? (expectedMs ?? null) : null,
    error: null,
  };
}
