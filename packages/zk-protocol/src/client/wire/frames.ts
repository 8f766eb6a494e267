import { MalformedFrameError, type WireReader } from './reader.js';

/** Largest accepted reply; a larger length prefix is garbage. */
const MAX_FRAME_BYTES = 128 * 1024 * 1024;
const EMPTY = Buffer.alloc(0);

/**
 * Splits a byte stream into length-prefixed frames, without recursion. Copies only frames that span chunks, each byte once.
 */
export class FrameSplitter {
  #chunk: Buffer = EMPTY;
  #position = 0;
  /** Collects a frame (with its prefix) that spans chunks; `undefined` until its length is known. */
  #partial: Buffer | undefined;
  #partialBytes = 0;
  /** Up to three bytes of an incomplete length prefix. */
  #prefix: Buffer = EMPTY;

  /** Adds the next chunk; call {@link next} until it returns false before adding another. */
  push(chunk: Buffer): void {
    if (this.#partial !== undefined) {
      const taken = chunk.copy(this.#partial, this.#partialBytes);
      this.#partialBytes += taken;
      this.#chunk = chunk;
      this.#position = taken;
      return;
    }
    this.#chunk = this.#prefix.length === 0 ? chunk : Buffer.concat([this.#prefix, chunk]);
    this.#prefix = EMPTY;
    this.#position = 0;
  }

  /** Sets the reader to the next complete frame. @returns false if there is none yet */
  next(reader: WireReader): boolean {
    if (this.#partial !== undefined) {
      if (this.#partialBytes < this.#partial.length) return false;
      reader.reset(this.#partial, 4, this.#partial.length);
      this.#partial = undefined;
      return true;
    }
    const available = this.#chunk.length - this.#position;
    if (available < 4) {
      this.#prefix = available === 0 ? EMPTY : Buffer.from(this.#chunk.subarray(this.#position));
      this.#chunk = EMPTY;
      this.#position = 0;
      return false;
    }
    const length = this.#chunk.readInt32BE(this.#position);
    if (length < 0 || length > MAX_FRAME_BYTES) throw new MalformedFrameError(`frame length ${length}`);
    if (available < length + 4) {
      this.#startPartial(length + 4, available);
      return false;
    }
    const start = this.#position + 4;
    this.#position = start + length;
    reader.reset(this.#chunk, start, this.#position);
    return true;
  }

  #startPartial(total: number, available: number): void {
    this.#partial = Buffer.allocUnsafeSlow(total);
    this.#chunk.copy(this.#partial, 0, this.#position);
    this.#partialBytes = available;
    this.#chunk = EMPTY;
    this.#position = 0;
  }
}
