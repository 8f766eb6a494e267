import type { Duplex } from 'node:stream';
import { JuteWriter } from './wire/jute-writer.js';

interface Segment {
  batch: number;
  writer: JuteWriter;
}

const SEGMENT_BYTES = 2048;

/** Bytes for one client, each held back until the log batch it depends on is durable. */
export class Outbox {
  private readonly segments: Segment[] = [];
  private isEnding = false;

  constructor(private readonly stream: Duplex) {}

  /** Bytes that the client has not taken yet. */
  get bytes(): number {
    let held = this.stream.writableLength;
    for (const { writer } of this.segments) held += writer.length;
    return held;
  }

  get isEmpty(): boolean {
    return this.segments.length === 0;
  }

  /** Where to write what depends on `batch`; batches never go down. */
  writerFor(batch: number): JuteWriter {
    const last = this.segments.at(-1);
    if (last?.batch === batch) return last.writer;
    const writer = new JuteWriter(SEGMENT_BYTES);
    this.segments.push({ batch, writer });
    return writer;
  }

  /** Closes the connection once everything written so far is out. */
  endWhenSent(): void {
    this.isEnding = true;
    if (this.isEmpty) this.stream.end();
  }

  /** Sends what depends on no later batch than this. */
  release(durableBatch: number): void {
    for (let first = this.segments[0]; first !== undefined && first.batch <= durableBatch; first = this.segments[0]) {
      this.segments.shift();
      this.stream.write(first.writer.finish());
    }
    if (this.isEnding && this.isEmpty) this.stream.end();
  }
}
