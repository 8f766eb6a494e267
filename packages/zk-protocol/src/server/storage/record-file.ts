import type { FileSystem, StorageFile } from './file-system.js';
import {
  type BatchMark,
  mayBeginLaterBatch,
  readRecord,
  RECORD_HEADER_BYTES,
  recordBytes,
  type RecordView,
} from './record.js';

/** Bytes per read: files may be larger than memory, or than the limit of one read in Node. */
const PIECE_BYTES = 4 * 1024 * 1024;

/** End of the intact records of a file. */
export interface RecordsEnd {
  /** Offset of the byte after the last one. */
  at: number;
  /** Mark of the last one; `undefined` if there is none. */
  mark: BatchMark | undefined;
}

/** Reads a log or a snapshot in pieces. */
export class RecordFile {
  private piece: Buffer = Buffer.alloc(0);
  private pieceStart = 0;

  private constructor(
    private readonly file: StorageFile,
    /** Bytes in the file. */
    readonly size: number,
    private readonly pieceBytes: number,
  ) {}

  /** Opens a file, calls `use`, and closes the file. */
  static async use<T>(
    fs: FileSystem,
    path: string,
    use: (file: RecordFile) => Promise<T>,
    pieceBytes = PIECE_BYTES,
  ): Promise<T> {
    const file = await fs.open(path, 'existing');
    try {
      return await use(new RecordFile(file, await file.size(), pieceBytes));
    } finally {
      await file.close();
    }
  }

  /** Whether the file begins with these bytes. */
  async beginsWith(magic: Buffer): Promise<boolean> {
    return (await this.file.read(magic.length, 0)).equals(magic);
  }

  /**
   * Reads records in order, up to the first damaged one.
   * @param take - receives each record with its offset; the payload is valid only during the call
   */
  async readRecords(from: number, take: (record: RecordView, at: number) => void): Promise<RecordsEnd> {
    let at = from;
    let mark: BatchMark | undefined;
    do {
      for (let record = this.recordAt(at); record !== undefined; record = this.recordAt(at)) {
        take(record, at);
        at = this.pieceStart + record.end;
        mark = record;
      }
    } while (await this.loadRecord(at));
    return { at, mark };
  }

  /**
   * Searches for the start of a later batch after a damaged record. A batch is written only after the previous one is durable,
   * so a later one proves that the damaged data was durable, and is not a torn last write.
   * @param lastIntact - the record before the damage; `undefined` if there is none
   * @returns its offset, or `undefined`
   */
  async findLaterBatch(from: number, lastIntact: BatchMark | undefined): Promise<number | undefined> {
    for (let at = from + 1; at + RECORD_HEADER_BYTES <= this.size; at++) {
      if (this.missingAt(at, RECORD_HEADER_BYTES) && !(await this.load(at, RECORD_HEADER_BYTES))) return undefined;
      if (!mayBeginLaterBatch(this.piece, at - this.pieceStart, lastIntact)) continue;
      await this.loadRecord(at);
      if (this.recordAt(at) !== undefined) return at;
    }
    return undefined;
  }

  private recordAt(at: number): RecordView | undefined {
    return readRecord(this.piece, at - this.pieceStart);
  }

  /** Loads the record at an offset, unless the current piece contains it. @returns false if there is nothing to load */
  private async loadRecord(at: number): Promise<boolean> {
    if (this.missingAt(at, RECORD_HEADER_BYTES)) return this.load(at, RECORD_HEADER_BYTES);
    const bytes = recordBytes(this.piece, at - this.pieceStart);
    return this.missingAt(at, bytes) && this.load(at, bytes);
  }

  private missingAt(at: number, bytes: number): boolean {
    return at + bytes > this.pieceStart + this.piece.length;
  }

  /** @returns false beyond the end of the file */
  private async load(at: number, bytes: number): Promise<boolean> {
    if (at + bytes > this.size) return false;
    this.piece = await this.file.read(Math.max(this.pieceBytes, bytes), at);
    this.pieceStart = at;
    return this.piece.length >= bytes;
  }
}
