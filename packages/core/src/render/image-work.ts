import type { Json } from '@nodepool/zk-protocol';
import { formatAge } from './age.js';
import type { Column, Listing } from './listing.js';

/** A build or an upload that a builder is making, or has failed to make and tries again. */
export interface ImageWork {
  readonly image: string;
  /** Empty for a build that has not started. */
  readonly buildId: string;
  /** Full name of the builder's host. */
  readonly builder: string;
  /** Where an upload goes; `null`: it is a build. */
  readonly provider: string | null;
  /** E.g. `root` or `uploading`; `waiting` after a failure; `blocked`: it cannot begin; `kept`: it cannot be removed. */
  readonly phase: string;
  /** In ms since the epoch. */
  readonly startedMs: number;
  /** Progress of an upload that is sending; `null` otherwise. */
  readonly sent: SentBytes | null;
  /** How long the last good build of the image took, ms; `null`: an upload, or not known. */
  readonly expectedMs: number | null;
  /** Why the last try failed, or why it cannot begin; `null`: it is in progress. */
  readonly error: string | null;
}

/** How much of an upload has been sent, and how fast. */
export interface SentBytes {
  readonly bytes: number;
  readonly totalBytes: number;
  /** Over its whole time. */
  readonly bytesPerSecond: number;
  /** At that rate; `null`: not known. */
  readonly secondsLeft: number | null;
}

const MS_PER_SECOND = 1_000;
const MEBIBYTE = 1_048_576;

/** A build that takes longer than the last one is not over for that. */
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

/** How far a build is if it takes as long as the last one; `null`: not known. */
function buildPercent({ startedMs, expectedMs }: ImageWork, nowMs: number): number | null {
  if (expectedMs === null || expectedMs <= 0) return null;
  return Math.min(LAST_PERCENT, Math.max(0, Math.floor((100 * (nowMs - startedMs)) / expectedMs)));
}

/** One piece of work as a line for people. */
export function imageWorkToText(work: ImageWork, nowMs: number): string {
  const { builder, buildId, provider, phase, startedMs, sent, error } = work;
  if (phase === 'kept') return `old build ${buildId} is kept on ${builder}: ${error ?? 'unknown'}`;
  if (phase === 'blocked') {
    const what = provider === null ? 'a build' : `the upload to ${provider}`;
    return `${what} cannot begin on ${builder}, for ${formatAge(Math.max(0, nowMs - startedMs))}: ${error ?? 'unknown'}`;
  }
  if (error !== null)
    return `upload to ${provider ?? 'a provider'} from ${builder} failed and is tried again: ${error}`;
  const elapsed = `for ${formatAge(Math.max(0, nowMs - startedMs))}`;
  const percent = buildPercent(work, nowMs);
  if (provider === null) {
    const about = percent === null ? '' : `, about ${percent} % by the time the last build took`;
    return `building on ${builder} ${elapsed}, phase ${phase}${about}`;
  }
  const upload = `uploading to ${provider} from ${builder} ${elapsed}`;
  if (!sent) return `${upload}, phase ${phase}`;
  const rate = `${mebibytes(sent.bytesPerSecond)} MiB/s`;
  const left = sent.secondsLeft === null ? '' : `, ${sent.secondsLeft} s left`;
  return `${upload}, ${percentOf(sent)} % of ${mebibytes(sent.totalBytes)} MiB at ${rate}${left}`;
}

const mebibytes = (bytes: number): string => (bytes / MEBIBYTE).toFixed(1);

/**
 * Reads what a builder's `/image-work` has answered. Entries of another form are left out.
 * @param nowMs - when it was asked, in ms since the epoch
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
