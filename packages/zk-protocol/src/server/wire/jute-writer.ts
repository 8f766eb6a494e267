/** Longer strings are measured instead of reserving their maximum size. */
const LONG_TEXT = 1024;

/** Appends values in ZooKeeper's wire format (jute) to a buffer that grows as needed. */
export class JuteWriter {
  private buffer: Buffer;
  private used = 0;

  constructor(initialBytes = 1024) {
    this.buffer = Buffer.allocUnsafe(initialBytes);
  }

  /** Bytes written so far. */
  get length(): number {
    return this.used;
  }

  /** The written bytes. They share memory with the writer, which must not be used afterwards. */
  finish(): Buffer {
    return this.buffer.subarray(0, this.used);
  }

  byte(value: number): void {
    this.reserve(1);
    this.buffer[this.used++] = value;
  }

  bool(value: boolean): void {
    this.byte(value ? 1 : 0);
  }

  int(value: number): void {
    this.reserve(4);
    this.used = this.buffer.writeInt32BE(value, this.used);
  }

  /** A 64-bit integer from a number: exact up to 2^53. */
  long(value: number): void {
    this.reserve(8);
    this.used = this.buffer.writeInt32BE(Math.floor(value / 0x1_0000_0000), this.used);
    this.used = this.buffer.writeUInt32BE(value >>> 0, this.used);
  }

  bigLong(value: bigint): void {
    this.reserve(8);
    this.used = this.buffer.writeBigInt64BE(value, this.used);
  }

  string(value: string): void {
    this.reserve(4 + (value.length > LONG_TEXT ? Buffer.byteLength(value) : value.length * 3));
    const written = this.buffer.write(value, this.used + 4, 'utf8');
    this.buffer.writeInt32BE(written, this.used);
    this.used += 4 + written;
  }

  /** Bytes with a length prefix; `null` differs from empty. */
  bytes(value: Buffer | null): void {
    if (value === null) {
      this.int(-1);
      return;
    }
    this.int(value.length);
    this.raw(value);
  }

  /** Bytes without a length prefix. */
  raw(value: Buffer): void {
    this.reserve(value.length);
    this.used += value.copy(this.buffer, this.used);
  }

  strings(values: Iterable<string>, count: number): void {
    this.int(count);
    for (const value of values) this.string(value);
  }

  /** Reserves an integer for {@link patchInt}. */
  placeholder(): number {
    const at = this.used;
    this.int(0);
    return at;
  }

  patchInt(at: number, value: number): void {
    this.buffer.writeInt32BE(value, at);
  }

  patchUint(at: number, value: number): void {
    this.buffer.writeUInt32BE(value, at);
  }

  /** A view of written bytes, valid until the next write. */
  view(from: number, to: number): Buffer {
    return this.buffer.subarray(from, to);
  }

  private reserve(bytes: number): void {
    const needed = this.used + bytes;
    if (needed <= this.buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.buffer.length * 2));
    this.buffer.copy(grown, 0, 0, this.used);
    this.buffer = grown;
  }
}
