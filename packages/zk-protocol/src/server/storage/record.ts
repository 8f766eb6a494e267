import { crc32 } from 'node:zlib';
import type { JuteWriter } from '../wire/jute-writer.js';

/** Length, checksum and batch, four bytes each. */
export const RECORD_HEADER_BYTES = 12;

/** Beyond the size of any record: a packet, or the ephemerals of one session. */
const MAX_RECORD_BYTES = 0x1000_0000;

/** Largest plausible distance of a batch number after damaged data. */
const FARTHEST_BATCH = 1_000_000;

/** The write of which a record is part. */
export interface BatchMark {
  /** Number of the write to its file. */
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

/** Reads the record at an offset; `undefined` if there is no complete and intact one. */
export function readRecord(bytes: Buffer, at: number): RecordView | undefined {
  const end = at + recordBytes(bytes, at);
  if (Number.isNaN(end) || end > bytes.length) return undefined;
  if (crc32(bytes.subarray(at + 8, end)) !== bytes.readUInt32BE(at + 4)) return undefined;
  const { batch, isFirst } = readMark(bytes, at);
  return { batch, isFirst, payload: bytes.subarray(at + RECORD_HEADER_BYTES, end), end };
}

/** Size of the record at an offset, by its header; `NaN` if the header is invalid. */
export function recordBytes(bytes: Buffer, at: number): number {
  if (bytes.length - at < RECORD_HEADER_BYTES) return NaN;
  const length = bytes.readUInt32BE(at);
  return length === 0 || length > MAX_RECORD_BYTES ? NaN : RECORD_HEADER_BYTES + length;
}

/** Whether the header at an offset may start a record of a later batch than `lastIntact`. */
export function mayBeginLaterBatch(bytes: Buffer, at: number, lastIntact: BatchMark | undefined): boolean {
  const last = lastIntact?.batch ?? 0;
  const { batch, isFirst } = readMark(bytes, at);
  return batch > last && batch <= last + FARTHEST_BATCH && (batch > last + 1 || isFirst);
}

function readMark(bytes: Buffer, at: number): BatchMark {
  const mark = bytes.readUInt32BE(at + 8);
  return { batch: mark >>> 1, isFirst: (mark & 1) === 1 };
}
