import type { ServerModel } from '../model/server-model.js';
import type { Znode } from '../model/znode.js';
import { JuteWriter } from '../wire/jute-writer.js';
import { encodeSession, encodeZnode, Kind } from './codec.js';

let lastMark = 0;

/** Limit of a part: one request may change thousands of znodes while a part waits to be written. */
const MAX_PART_BYTES = 8 * 1024 * 1024;

/**
 * The state of a model at the moment of construction, in parts. The model may change meanwhile: a znode is encoded before it
 * changes, and new znodes are omitted. Call {@link close} in the end.
 */
export class SnapshotSource {
  /** Last transaction of the snapshot. */
  readonly zxid: number;
  private readonly mark = ++lastMark;
  private readonly sessions: Buffer;
  private readonly lastSessionId: bigint;
  private readonly nodes: Iterator<[string, Znode]>;
  private part = new JuteWriter(1024);
  /** Parts that reached their limit between two calls. */
  private readonly full: Buffer[] = [];
  private step: 'header' | 'sessions' | 'znodes' | 'end' | 'done' = 'header';
  private count = 0;

  constructor(private readonly model: ServerModel) {
    this.zxid = model.lastZxid;
    this.lastSessionId = model.lastSessionId;
    this.sessions = encodeSessions(model);
    this.nodes = model.tree.entries();
    model.tree.newNodeMark = this.mark;
    model.tree.beforeChange = (path, node) => this.take(path, node);
  }

  /** Payload of the next record, with at least `wantedBytes` if available; `undefined` after the last. */
  next(wantedBytes: number): Buffer | undefined {
    switch (this.step) {
      case 'header':
        this.step = 'sessions';
        return header(this.zxid, this.lastSessionId);
      case 'sessions':
        this.step = 'znodes';
        return this.sessions;
      case 'znodes':
        return this.nextZnodes(wantedBytes);
      case 'end':
        this.step = 'done';
        return end(this.count);
      case 'done':
        return undefined;
    }
  }

  close(): void {
    this.model.tree.beforeChange = undefined;
  }

  private nextZnodes(wantedBytes: number): Buffer {
    const first = this.full.shift();
    if (first !== undefined) return first;
    while (this.part.length < wantedBytes) {
      const entry = this.nodes.next();
      if (entry.done === true) {
        this.step = 'end';
        this.close();
        break;
      }
      this.take(...entry.value);
    }
    return this.part.length === 0 ? Buffer.of(Kind.znodes) : this.finishPart();
  }

  private finishPart(): Buffer {
    const payload = this.part.finish();
    this.part = new JuteWriter(1024);
    return payload;
  }

  private take(path: string, node: Znode): void {
    if (node.snapshotMark === this.mark) return;
    node.snapshotMark = this.mark;
    if (this.part.length === 0) this.part.byte(Kind.znodes);
    encodeZnode(this.part, path, node);
    this.count++;
    if (this.part.length > MAX_PART_BYTES) this.full.push(this.finishPart());
  }
}

function header(zxid: number, lastSessionId: bigint): Buffer {
  const writer = new JuteWriter(32);
  writer.byte(Kind.snapshotHeader);
  writer.long(zxid);
  writer.bigLong(lastSessionId);
  return writer.finish();
}

function encodeSessions(model: ServerModel): Buffer {
  const writer = new JuteWriter(64 * (model.sessions.size + 1));
  writer.byte(Kind.sessions);
  writer.int(model.sessions.size);
  for (const session of model.sessions.values()) encodeSession(writer, session);
  return writer.finish();
}

function end(count: number): Buffer {
  const writer = new JuteWriter(16);
  writer.byte(Kind.snapshotEnd);
  writer.int(count);
  return writer.finish();
}
