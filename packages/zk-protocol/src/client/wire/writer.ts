const SLAB_BYTES = 64 * 1024;

/**
 * Encodes jute primitives into large slabs. A batch is taken as one slice of the slab. A slab is never overwritten, as a
 * socket may still use it; a full slab is replaced.
 */
export class WireWriter {
  #buffer: Buffer = Buffer.allocUnsafeSlow(SLAB_BYTES);
  /** First byte of the batch being written. */
  #batchStart = 0;
  #offset = 0;

  /** Bytes written since the last {@link take}. */
  get pendingBytes(): number {
    return this.#offset - this.#batchStart;
  }

  /** Starts a length-prefixed frame. @returns a mark for {@link endFrame} or {@link rewind} */
  beginFrame(): number {
    this.#ensure(4);
    const mark = this.#offset - this.#batchStart;
    this.#offset += 4;
    return mark;
  }

  /** Fills in the length of the frame. @returns its length without the prefix, in bytes */
  endFrame(mark: number): number {
    const at = this.#batchStart + mark;
    const length = this.#offset - at - 4;
    this.#putInt(at, length);
    return length;
  }

  /** Discards everything after the mark. */
  rewind(mark: number): void {
    this.#offset = this.#batchStart + mark;
  }

  /** The bytes written since the last call, as one buffer that will not be written to again. */
  take(): Buffer {
    const batch = this.#buffer.subarray(this.#batchStart, this.#offset);
    this.#batchStart = this.#offset;
    return batch;
  }

  int(value: number): void {
    this.#ensure(4);
    this.#putInt(this.#offset, value);
    this.#offset += 4;
  }

  long(value: bigint): void {
    this.#ensure(8);
    this.#offset = this.#buffer.writeBigInt64BE(value, this.#offset);
  }

  /** A long that fits a number exactly. */
  longNumber(value: number): void {
    this.int(Math.floor(value / 0x1_0000_0000));
    this.int(value >>> 0);
  }

  bool(value: boolean): void {
    this.#ensure(1);
    this.#buffer[this.#offset++] = value ? 1 : 0;
  }

  /** A string or bytes with a length prefix. */
  data(value: string | Uint8Array): void {
    if (typeof value === 'string') {
      this.string(value);
      return;
    }
    this.#ensure(4 + value.length);
    this.#putInt(this.#offset, value.length);
    this.#buffer.set(value, this.#offset + 4);
    this.#offset += 4 + value.length;
  }

  string(value: string): void {
    this.#ensure(4 + value.length * 3);
    const at = this.#offset;
    const written = this.#buffer.write(value, at + 4, 'utf8');
    this.#putInt(at, written);
    this.#offset = at + 4 + written;
  }

  /** Bytes without a length prefix. */
  raw(value: Uint8Array): void {
    this.#ensure(value.length);
    this.#buffer.set(value, this.#offset);
    this.#offset += value.length;
  }

  #putInt(at: number, value: number): void {
    const buffer = this.#buffer;
    buffer[at] = value >>> 24;
    buffer[at + 1] = value >>> 16;
    buffer[at + 2] = value >>> 8;
    buffer[at + 3] = value;
  }

  #ensure(bytes: number): void {
    if (this.#offset + bytes > this.#buffer.length) this.#grow(bytes);
  }

  /** Moves the unfinished batch to a new slab with space for `bytes` more. */
  #grow(bytes: number): void {
    const pending = this.pendingBytes;
    const wanted = pending + bytes;
    const next = Buffer.allocUnsafeSlow(wanted * 2 > SLAB_BYTES ? wanted * 2 : SLAB_BYTES);
    this.#buffer.copy(next, 0, this.#batchStart, this.#offset);
    this.#buffer = next;
    this.#batchStart = 0;
    this.#offset = pending;
  }
}
