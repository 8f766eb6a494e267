import type { Acl, Stat } from '../contract/types.js';

const TWO_POW_32 = 0x1_0000_0000;

/** A frame violates the protocol. */
export class MalformedFrameError extends Error {}

/** Reads jute primitives of one frame. Reused for successive frames. */
export class WireReader {
  buffer: Buffer = Buffer.alloc(0);
  offset = 0;
  /** First byte after the frame. */
  end = 0;
  /** Session of the connection. */
  sessionId = 0n;
  #start = 0;

  /** Sets the frame to `[start, end)` of the buffer. */
  reset(buffer: Buffer, start: number, end: number): this {
    this.buffer = buffer;
    this.#start = start;
    this.offset = start;
    this.end = end;
    return this;
  }

  /** Transaction id in the header of the reply; of a write, its own. */
  get headerZxid(): bigint {
    return this.buffer.readBigInt64BE(this.#start + 4);
  }

  get remaining(): number {
    return this.end - this.offset;
  }

  bool(): boolean {
    if (this.offset + 1 > this.end) this.#tooShort(1);
    return this.buffer[this.offset++] !== 0;
  }

  int(): number {
    if (this.offset + 4 > this.end) this.#tooShort(4);
    const value = this.buffer.readInt32BE(this.offset);
    this.offset += 4;
    return value;
  }

  long(): bigint {
    if (this.offset + 8 > this.end) this.#tooShort(8);
    const value = this.buffer.readBigInt64BE(this.offset);
    this.offset += 8;
    return value;
  }

  /** A long that fits a number exactly, such as a time in milliseconds. */
  longNumber(): number {
    if (this.offset + 8 > this.end) this.#tooShort(8);
    const value = this.buffer.readInt32BE(this.offset) * TWO_POW_32 + this.buffer.readUInt32BE(this.offset + 4);
    this.offset += 8;
    return value;
  }

  string(): string {
    const length = this.#length();
    const value = this.buffer.toString('utf8', this.offset, this.offset + length);
    this.offset += length;
    return value;
  }

  /** A copy, as a slice would keep the whole chunk in memory. A null body becomes empty. */
  data(): Buffer {
    const length = this.#length();
    const value = Buffer.from(this.buffer.subarray(this.offset, this.offset + length));
    this.offset += length;
    return value;
  }

  strings(): string[] {
    const count = this.int();
    const values: string[] = [];
    for (let i = 0; i < count; i += 1) values.push(this.string());
    return values;
  }

  /** Header of one result of a multi: the type of its operation; `undefined` after the last one. */
  resultType(): number | undefined {
    if (this.offset + 9 > this.end) this.#tooShort(9);
    const at = this.offset;
    this.offset = at + 9; // type, whether that was all, error
    return this.buffer[at + 4] === 0 ? this.buffer.readInt32BE(at) : undefined;
  }

  stat(): Stat {
    if (this.offset + 68 > this.end) this.#tooShort(68);
    const buffer = this.buffer;
    const at = this.offset;
    this.offset = at + 68;
    return {
      czxid: buffer.readBigInt64BE(at),
      mzxid: buffer.readBigInt64BE(at + 8),
      pzxid: buffer.readBigInt64BE(at + 60),
      ctime: buffer.readInt32BE(at + 16) * TWO_POW_32 + buffer.readUInt32BE(at + 20),
      mtime: buffer.readInt32BE(at + 24) * TWO_POW_32 + buffer.readUInt32BE(at + 28),
      version: buffer.readInt32BE(at + 32),
      cversion: buffer.readInt32BE(at + 36),
      aversion: buffer.readInt32BE(at + 40),
      ephemeralOwner: buffer.readBigInt64BE(at + 44),
      dataLength: buffer.readInt32BE(at + 52),
      numChildren: buffer.readInt32BE(at + 56),
    };
  }

  acls(): Acl[] {
    const count = this.int();
    const acls: Acl[] = [];
    for (let i = 0; i < count; i += 1) {
      acls.push({ permissions: this.int(), scheme: this.string(), id: this.string() });
    }
    return acls;
  }

  #length(): number {
    const length = this.int();
    if (length <= 0) return 0;
    if (this.offset + length > this.end) this.#tooShort(length);
    return length;
  }

  #tooShort(bytes: number): never {
    throw new MalformedFrameError(`frame is ${this.offset + bytes - this.end} bytes too short`);
  }
}
