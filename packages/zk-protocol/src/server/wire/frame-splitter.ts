import { MAX_PACKET_BYTES } from '../model/constants.js';
import { MalformedPacketError } from './jute-reader.js';

const LENGTH_BYTES = 4;

/** Splits a byte stream into length-prefixed packets. Copies only packets that span several chunks. */
export class FrameSplitter {
  private chunks: Buffer[] = [];
  private bytes = 0;
  /** Position in the first chunk. */
  private at = 0;
  private needed = LENGTH_BYTES;

  /** @param maxPacketBytes - can be changed at any time */
  constructor(public maxPacketBytes = MAX_PACKET_BYTES) {}

  /** Adds the next bytes of the stream. */
  push(chunk: Buffer): void {
    this.chunks.push(chunk);
    this.bytes += chunk.length;
  }

  /**
   * The next packet, without its length; `undefined` if it is not complete.
   * @throws {MalformedPacketError} the length is negative or beyond the limit
   */
  next(): Buffer | undefined {
    if (this.bytes < this.needed) return undefined;
    const data = this.joined();
    const length = data.readInt32BE(this.at);
    if (length < 0 || length > this.maxPacketBytes)
      throw new MalformedPacketError(`a packet claims to have ${length} bytes`);
    const start = this.at + LENGTH_BYTES;
    if (data.length < start + length) {
      this.needed = LENGTH_BYTES + length;
      return undefined;
    }
    this.needed = LENGTH_BYTES;
    this.bytes -= LENGTH_BYTES + length;
    this.at = start + length;
    if (this.bytes === 0) {
      this.chunks = [];
      this.at = 0;
    }
    return data.subarray(start, start + length);
  }

  private joined(): Buffer {
    const [first] = this.chunks;
    if (first !== undefined && this.chunks.length === 1) return first;
    const data = Buffer.concat(this.chunks.map((chunk, index) => (index === 0 ? chunk.subarray(this.at) : chunk)));
    this.chunks = [data];
    this.at = 0;
    return data;
  }
}
