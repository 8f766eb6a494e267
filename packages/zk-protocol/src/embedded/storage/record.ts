import { crc32 } from 'node:zlib';
import type { JuteWriter } from '../wire/jute-writer.js';

/** Length, checksum and batch, four bytes each. */
export const RECORD_HEADER_BYTES = 12;

/** Larger than any record can become: a packet, or the ephemerals of one session. */
const MAX_RECORD_BYTES = 0x1000_0000;

/** How far behind a damaged place a batch number is still believed. */
const FARTHEST_BATCH = 1_000_000;

/** Which write to the file a record was part of. */
export interface BatchMark {
  /** Counts the writes to one file. */
  batch: number;
  /** True for the first record of a batch. */
  isFirst: boolean;
}

/** Appends a record. `encode` writes its payload; the checksum covers the batch mark and the payload. */
export function writeRecord(writer: JuteWriter, mark: BatchMark, encode: (writer: JuteWriter) => void): void {
  const start = writer.placeholder();
  const checksumAt = writer.placeholder();
  const batchAt = writer.placeholder();
  writer.patchUint(batchAt, mark.batch * 2 + (mark.isFirst ? 1 : 0));
  encode(writer);
  writer.patchUint(start, writer.length - start - RECORD_HEADER_BYTES);
  writer.patchUint(checksumAt, crc32(writer.view(batchAt, writer.length)));
}

/** One intact record. */
export interface RecordView extends BatchMark {
  payload: Buffer;
  /** Offset of the byte after it. */
  end: number;
}

/** Reads the record at an offset; `undefined` when there is none that is whole and intact. */
export function readRecord(file: Buffer, at: number): RecordView | undefined {
  if (file.length - at < RECORD_HEADER_BYTES) return undefined;
  const length = file.readUInt32BE(at);
  const end = at + RECORD_HEADER_BYTES + length;
  if (length === 0 || length > MAX_RECORD_BYTES || end > file.length) return undefined;
  if (crc32(file.subarray(at + 8, end)) !== file.readUInt32BE(at + 4)) return undefined;
  const { batch, isFirst } = readMark(file, at);
  return { batch, isFirst, payload: file.subarray(at + RECORD_HEADER_BYTES, end), end };
}

/**
 * Looks behind a damaged record for the beginning of a later batch. A batch is written only after the one before it is
 * durable, so finding one proves that the damage hit data that was durable once, and is no torn end of the last write.
 * @param lastIntact - the record before the damage; `undefined` when the damage is at the beginning of the file
 * @returns its offset, or `undefined`
 */
export function findLaterBatch(file: Buffer, from: number, lastIntact: BatchMark | undefined): number | undefined {
  const last = lastIntact?.batch ?? 0;
  for (let at = from + 1; at <= file.length - RECORD_HEADER_BYTES; at++) {
    const { batch, isFirst } = readMark(file, at);
    if (batch <= last || batch > last + FARTHEST_BATCH || (batch === last + 1 && !isFirst)) continue;
    if (readRecord(file, at) !== undefined) return at;
  }
  return undefined;
}

function readMark(file: Buffer, at: number): BatchMark {
  const mark = file.readUInt32BE(at + 8);
  return { batch: mark >>> 1, isFirst: (mark & 1) === 1 };
}
