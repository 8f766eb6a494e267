/** A packet or record is malformed. */
export class MalformedPacketError extends Error {
  override readonly name = 'MalformedPacketError';
}

/** Reads values in ZooKeeper's wire format (jute). Every read beyond the end throws {@link MalformedPacketError}. */
export class JuteReader {
  private at: number;

  constructor(
    private readonly buffer: Buffer,
    start = 0,
    private readonly end = buffer.length,
  ) {
    this.at = start;
  }

  get remaining(): number {
    return this.end - this.at;
  }

  byte(): number {
    return this.buffer.readUInt8(this.take(1));
  }

  bool(): boolean {
    return this.byte() !== 0;
  }

  int(): number {
    return this.buffer.readInt32BE(this.take(4));
  }

  /** A 64-bit integer as a number: exact up to 2^53. */
  long(): number {
    const at = this.take(8);
    return this.buffer.readInt32BE(at) * 0x1_0000_0000 + this.buffer.readUInt32BE(at + 4);
  }

  bigLong(): bigint {
    return this.buffer.readBigInt64BE(this.take(8));
  }

  /** `null` for a missing string (length -1). */
  stringOrNull(): string | null {
    const length = this.int();
    if (length === -1) return null;
    const at = this.take(length);
    return this.buffer.toString('utf8', at, at + length);
  }

  string(): string {
    const value = this.stringOrNull();
    if (value === null) throw new MalformedPacketError('a string is missing');
    return value;
  }

  /** A copy, as a slice would keep the packet in memory; `null` for missing data. */
  bytes(): Buffer | null {
    const length = this.int();
    if (length === -1) return null;
    const at = this.take(length);
    const copy = Buffer.allocUnsafeSlow(length);
    this.buffer.copy(copy, 0, at, at + length);
    return copy;
  }

  strings(): string[] {
    return this.vector(() => this.string());
  }

  /** A list; empty if it is missing. */
  vector<T>(read: () => T): T[] {
    const count = this.int();
    const values: T[] = [];
    for (let index = 0; index < count; index++) values.push(read());
    return values;
  }

  private take(bytes: number): number {
    const at = this.at;
    if (bytes < 0 || bytes > this.end - at) {
      throw new MalformedPacketError(`${bytes} bytes expected, ${this.end - at} available`);
    }
    this.at = at + bytes;
    return at;
  }
}
