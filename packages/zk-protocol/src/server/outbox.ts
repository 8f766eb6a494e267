import type { Duplex } from 'node:stream';
import { JuteWriter } from './wire/jute-writer.js';

interface Segment {
  batch: number;
  writer: JuteWriter;
}

const SEGMENT_BYTES = 2048;

/** Queued data of one client, held back until the log batch on which it depends is durable. */
export class Outbox {
  private readonly segments: Segment[] = [];
  private isEnding = false;

  constructor(private readonly stream: Duplex) {}

  /** Bytes not yet received by the client. */
  get bytes(): number {
    let held = this.stream.writableLength;
    for (const { writer } of this.segments) held += writer.length;
    return held;
  }

  get isEmpty(): boolean {
    return this.segments.length === 0;
  }

  /** Writer for data that depends on `batch`; batches never decrease. */
  writerFor(batch: number): JuteWriter {
    const last = this.segments.at(-1);
    if (last?.batch === batch) return last.writer;
    const writer = new JuteWriter(SEGMENT_BYTES);
    this.segments.push({ batch, writer });
    return writer;
  }

  /** Closes the connection after all data written so far. */
  endWhenSent(): void {
    this.isEnding = true;
    if (this.isEmpty) this.stream.end();
  }

  /** Sends data that depends on batches up to this. */
  release(durableBatch: number): void {
    for (let first = this.segments[0]; first !== undefined && first.batch <= durableBatch; first = this.segments[0]) {
      this.segments.shift();
      this.stream.write(first.writer.finish());
    }
    if (this.isEnding && this.isEmpty) this.stream.end();
  }
}
