import type { Json } from '@nodepool/zk-protocol';
import { formatAge } from './age.js';
import type { Column, Listing } from './listing.js';

/** A build or upload in progress, or one that failed and will be retried. */
export interface ImageWork {
  readonly image: string;
  /** Empty for a build that has not started. */
  readonly buildId: string;
  /** Fully qualified host name of the builder. */
  readonly builder: string;
  /** Target of an upload; `null` for a build. */
  readonly provider: string | null;
  /** E.g. `root` or `uploading`; `waiting` after a failure; `blocked` if it cannot start; `kept` if it cannot be removed. */
  readonly phase: string;
  /** In ms since the epoch. */
  readonly startedMs: number;
  /** Progress of a running upload; `null` otherwise. */
  readonly sent: SentBytes | null;
  /** Duration of the last successful build of the image, in ms; `null` for an upload, or if unknown. */
  readonly expectedMs: number | null;
  /** Why the last attempt failed or the work cannot start; `null` while in progress. */
  readonly error: string | null;
}

/** Progress and speed of an upload. */
export interface SentBytes {
  readonly bytes: number;
  readonly totalBytes: number;
  /** In the last 30 s. */
  readonly bytesPerSecond: number;
  /** Estimate at this rate; `null` if unknown. */
  readonly secondsLeft: number | null;
}

const MS_PER_SECOND = 1_000;
const MEBIBYTE = 1_048_576;

/** Maximum shown for a running build, which may take longer than the last one. */
const LAST_PERCENT = 99;

const percentOf = ({ bytes, totalBytes }: SentBytes): number =>
  totalBytes === 0 ? 100 : Math.floor((100 * bytes) / totalBytes);

function column(key: string, header: string, value: (work: ImageWork, nowMs: number) => Json): Column<ImageWork> {
  return { key, header, level: 'brief', value };
}

/** Columns of a builder's `/image-work`. */
export const imageWorkListing: Listing<ImageWork> = [
  column('image', 'Image', ({ image }) => image),
  column('work', 'Work', ({ provider }) => (provider === null ? 'build' : 'upload')),
  column('build_id', 'Build ID', ({ buildId }) => buildId),
  column('provider', 'Provider', ({ provider }) => provider),
  column('builder', 'Builder', ({ builder }) => builder),
  column('phase', 'Phase', ({ phase }) => phase),
  column('elapsed', 'Elapsed', ({ startedMs }, nowMs) => Math.floor((nowMs - startedMs) / MS_PER_SECOND)),
  column('percent', 'Percent', (work, nowMs) => (work.sent ? percentOf(work.sent) : buildPercent(work, nowMs))),
  column('sent_bytes', 'Sent Bytes', ({ sent }) => sent && sent.bytes),
  column('total_bytes', 'Total Bytes', ({ sent }) => sent && sent.totalBytes),
  column('bytes_per_second', 'Bytes per Second', ({ sent }) => sent && sent.bytesPerSecond),
  column('seconds_left', 'Seconds Left', ({ sent }) => sent && sent.secondsLeft),
  column('expected', 'Expected', ({ expectedMs }) => expectedMs && Math.ceil(expectedMs / MS_PER_SECOND)),
  column('error', 'Error', ({ error }) => error),
];

/** Estimated progress of a build, based on the duration of the last one; `null` if unknown. */
function buildPercent({ startedMs, expectedMs }: ImageWork, nowMs: number): number | null {
  if (expectedMs === null || expectedMs <= 0) return null;
  return Math.min(LAST_PERCENT, Math.max(0, Math.floor((100 * (nowMs - startedMs)) / expectedMs)));
}

/** Formats work on an image as a line of text. */
export function imageWorkToText(work: ImageWork, nowMs: number): string {
  const { builder, buildId, provider, phase, startedMs, sent, error } = work;
  if (phase === 'kept') return `old build ${buildId} is kept on ${builder}: ${error ?? 'unknown'}`;
  if (phase === 'blocked') {
    const what = provider === null ? 'a build' : `the upload to ${provider}`;
    const since = nowMs - startedMs < MS_PER_SECOND ? '' : `, for ${formatAge(nowMs - startedMs)}`;
    return `${what} cannot begin on ${builder}${since}: ${error ?? 'unknown'}`;
  }
  if (error !== null) {
    const what = provider === null ? `a build on ${builder}` : `upload to ${provider} from ${builder}`;
    return `${what} failed and is tried again: ${error}`;
  }
  const elapsed = `for ${formatAge(Math.max(0, nowMs - startedMs))}`;
  const percent = buildPercent(work, nowMs);
  if (provider === null) {
    const about = percent === null ? '' : `, about ${percent} % by the time the last build took`;
    return `building on ${builder} ${elapsed}, phase ${phase}${about}`;
  }
  const upload = `uploading to ${provider} from ${builder} ${elapsed}`;
  if (!sent) return `${upload}, phase ${phase}`;
  const stalled = phase === 'uploading' ? '' : `; ${phase}`;
  const rate = `${mebibytes(sent.bytesPerSecond)} MiB/s`;
  const left = sent.secondsLeft === null ? '' : `, ${sent.secondsLeft} s left`;
  return `${upload}, ${percentOf(sent)} % of ${mebibytes(sent.totalBytes)} MiB at ${rate}${left}${stalled}`;
}

const mebibytes = (bytes: number): string => (bytes / MEBIBYTE).toFixed(1);

/**
 * Parses the response of a builder's `/image-work`. Ignores invalid entries.
 * @param nowMs - time of the query, in ms since the epoch
 */
export function imageWorkFromJson(json: unknown, nowMs: number): ImageWork[] {
  return Array.isArray(json) ? json.flatMap((entry: unknown) => readWork(entry, nowMs) ?? []) : [];
}

function readWork(entry: unknown, nowMs: number): ImageWork | undefined {
  if (typeof entry !== 'object' || entry === null) return undefined;
  const fields = entry as Readonly<Record<string, unknown>>;
  const { image, build_id: buildId, builder, provider, phase, elapsed, expected, error } = fields;
  if (typeof image !== 'string' || typeof buildId !== 'string' || typeof builder !== 'string') return undefined;
  if (typeof phase !== 'string' || typeof elapsed !== 'number') return undefined;
  const startedMs = nowMs - elapsed * MS_PER_SECOND;
  const where = typeof provider === 'string' ? provider : null;
  return {
    ...{ image, buildId, builder, provider: where, phase, startedMs, sent: readSent(fields) },
    expectedMs: typeof expected === 'number' ? expected * MS_PER_SECOND : null,
    error: typeof error === 'string' ? error : null,
  };
}

function readSent(fields: Readonly<Record<string, unknown>>): SentBytes | null {
  const { sent_bytes: bytes, total_bytes: totalBytes, bytes_per_second: bytesPerSecond, seconds_left: left } = fields;
  if (typeof bytes !== 'number' || typeof totalBytes !== 'number' || typeof bytesPerSecond !== 'number') return null;
  return { bytes, totalBytes, bytesPerSecond, secondsLeft: typeof left === 'number' ? left : null };
}
