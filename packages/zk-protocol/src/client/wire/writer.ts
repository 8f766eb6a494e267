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
    if (this.#offset + 4 > this.#buffer.length) this.#grow(4);
    const mark = this.#offset - this.#batchStart;
    this.#offset += 4;
    return mark;
  }

  /** Fills in the length of the frame. @returns its length without the prefix, in bytes */
  endFrame(mark: number): number {
    const at = this.#batchStart + mark;
    const end = this.#offset;
    this.#offset = at;
    this.int(end - at - 4);
    this.#offset = end;
    return end - at - 4;
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
    if (this.#offset + 4 > this.#buffer.length) this.#grow(4);
    const buffer = this.#buffer;
    const at = this.#offset;
    buffer[at] = value >>> 24;
    buffer[at + 1] = value >>> 16;
    buffer[at + 2] = value >>> 8;
    buffer[at + 3] = value;
    this.#offset = at + 4;
  }

  long(value: bigint): void {
    if (this.#offset + 8 > this.#buffer.length) this.#grow(8);
    this.#offset = this.#buffer.writeBigInt64BE(value, this.#offset);
  }

  /** A long that fits a number exactly. */
  longNumber(value: number): void {
    this.int(Math.floor(value / 0x1_0000_0000));
    this.int(value >>> 0);
  }

  bool(value: boolean): void {
    if (this.#offset + 1 > this.#buffer.length) this.#grow(1);
    this.#buffer[this.#offset++] = value ? 1 : 0;
  }

  /** A string or bytes with a length prefix. */
  data(value: string | Uint8Array): void {
    if (typeof value === 'string') {
      this.string(value);
      return;
    }
    this.int(value.length);
    this.raw(value);
  }

  string(value: string): void {
    const most = 4 + value.length * 3;
    if (this.#offset + most > this.#buffer.length) this.#grow(most);
    const written = this.#buffer.write(value, this.#offset + 4, 'utf8');
    this.int(written);
    this.#offset += written;
  }

  /** Bytes without a length prefix. */
  raw(value: Uint8Array): void {
    if (this.#offset + value.length > this.#buffer.length) this.#grow(value.length);
    this.#buffer.set(value, this.#offset);
    this.#offset += value.length;
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
