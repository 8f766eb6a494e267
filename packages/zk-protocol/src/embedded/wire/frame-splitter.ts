import { MAX_PACKET_BYTES } from './constants.js';
import { MalformedPacketError } from './jute-reader.js';

const LENGTH_BYTES = 4;

/** Cuts a byte stream into length-prefixed packets. Bytes are copied only when a packet spans several chunks. */
export class FrameSplitter {
  private chunks: Buffer[] = [];
  private bytes = 0;
  private needed = LENGTH_BYTES;

  /**
   * Takes the next chunk and calls `onPacket` for each packet that is complete; when that returns false, the rest of the
   * stream is ignored.
   * @throws {MalformedPacketError} a length is negative or beyond the limit
   */
  push(chunk: Buffer, onPacket: (packet: Buffer) => boolean): void {
    this.chunks.push(chunk);
    this.bytes += chunk.length;
    if (this.bytes < this.needed) return;
    const data = this.chunks.length === 1 ? chunk : Buffer.concat(this.chunks, this.bytes);
    let at = 0;
    this.needed = LENGTH_BYTES;
    while (data.length - at >= LENGTH_BYTES) {
      const length = data.readInt32BE(at);
      if (length < 0 || length > MAX_PACKET_BYTES) throw new MalformedPacketError(`a packet claims ${length} bytes`);
      if (data.length - at < LENGTH_BYTES + length) {
        this.needed = LENGTH_BYTES + length;
        break;
      }
      const packet = data.subarray(at + LENGTH_BYTES, at + LENGTH_BYTES + length);
      at += LENGTH_BYTES + length;
      if (!onPacket(packet)) return;
    }
    this.chunks = at === data.length ? [] : [data.subarray(at)];
    this.bytes = data.length - at;
  }
}
