import { connect, type Socket } from 'node:net';
import { FrameSplitter } from '../../src/server/wire/frame-splitter.js';
import { JuteReader } from '../../src/server/wire/jute-reader.js';
import { JuteWriter } from '../../src/server/wire/jute-writer.js';
import { decodeEvent, decodeReply, type Message } from './decode.js';

/** A session that can be attached to again. */
export interface SessionCredentials {
  id: bigint;
  password: Buffer;
  timeoutMs: number;
}

/** A request as bytes, with a text for people. */
export interface RawRequest {
  type: number;
  text: string;
  /** Instead of the next number. */
  xid?: number;
  encode: (writer: JuteWriter) => void;
}

const EVENT_XID = -1;
const PING_TYPE = 11;

/** A plain ZooKeeper connection: sends any packet and keeps all received ones in order. */
export class RawClient {
  session: SessionCredentials = { id: 0n, password: Buffer.alloc(16), timeoutMs: 0 };
  /** Replies and events since the last {@link takeMessages}. */
  private messages: Message[] = [];
  private readonly types = new Map<number, number>();
  private readonly frames = new FrameSplitter(64 * 1024 * 1024);
  private xid = 0;
  private failure: unknown;
  private isOpen = true;
  private hasHello = false;
  private readonly waiters = new Set<() => void>();

  private constructor(private readonly socket: Socket) {
    socket.setNoDelay(true);
    socket.on('data', (chunk) => {
      try {
        this.frames.push(chunk);
        for (let packet = this.frames.next(); packet; packet = this.frames.next()) this.onPacket(packet);
      } catch (error) {
        this.failure = error;
      }
      this.wake();
    });
    socket.on('error', () => this.onEnd());
    socket.on('close', () => this.onEnd());
  }

  /** Connects and opens a session, or attaches to one. A refused session shows as id `0n`. */
  static async open(
    port: number,
    options: { timeoutMs: number; session?: SessionCredentials; lastZxidSeen?: number },
  ): Promise<RawClient> {
    const client = new RawClient(connect(port, '127.0.0.1'));
    const writer = new JuteWriter(64);
    const start = writer.placeholder();
    writer.int(0);
    writer.long(options.lastZxidSeen ?? 0);
    writer.int(options.timeoutMs);
    writer.bigLong(options.session?.id ?? 0n);
    writer.bytes(options.session?.password ?? Buffer.alloc(16));
    writer.bool(false);
    writer.patchInt(start, writer.length - 4);
    client.socket.write(writer.finish());
    await client.until(() => client.hasHello || !client.isOpen);
    return client;
  }

  /** Id of the request sent last. */
  get lastXid(): number {
    return this.xid;
  }

  /** Requests without an answer. */
  get pendingReplies(): number {
    return this.types.size;
  }

  get isClosed(): boolean {
    return !this.isOpen;
  }

  /** Sends requests in one go. @returns their ids */
  send(...requests: RawRequest[]): number[] {
    const writer = new JuteWriter(256);
    const xids = requests.map(({ type, encode, xid: fixed }) => {
      const xid = fixed ?? (type === PING_TYPE ? -2 : ++this.xid);
      this.types.set(xid, type);
      const start = writer.placeholder();
      writer.int(xid);
      writer.int(type);
      encode(writer);
      writer.patchInt(start, writer.length - start - 4);
      return xid;
    });
    this.socket.write(writer.finish());
    return xids;
  }

  /** Sends an identity; the answer counts as a message. */
  async addAuth(scheme: string, credentials: string): Promise<void> {
    const writer = new JuteWriter(64);
    const start = writer.placeholder();
    writer.int(-4);
    writer.int(100);
    writer.int(0);
    writer.string(scheme);
    writer.bytes(Buffer.from(credentials));
    writer.patchInt(start, writer.length - 4);
    this.types.set(-4, 100);
    this.socket.write(writer.finish());
    await this.until(() => !this.types.has(-4) || !this.isOpen);
  }

  /** Sends requests and waits for all answers, or the end of the connection. */
  async call(...requests: RawRequest[]): Promise<void> {
    const xids = this.send(...requests);
    await this.until(() => !this.isOpen || xids.every((xid) => !this.types.has(xid)));
  }

  /** Resolves once a condition holds, looked at whenever something arrives. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      if (this.failure !== undefined) throw new Error('an unreadable packet arrived', { cause: this.failure });
      await new Promise<void>((resolve) => this.waiters.add(resolve));
    }
  }

  takeMessages(): Message[] {
    return this.messages.splice(0);
  }

  /** Sends bytes as they are. */
  sendBytes(bytes: Buffer): void {
    this.socket.write(bytes);
  }

  /** Announces the reply to a request that is sent as bytes. */
  expect(xid: number, type: number): void {
    this.types.set(xid, type);
  }

  /** Takes nothing from the network any more. */
  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  /** Cuts the connection; the session lives on. */
  drop(): void {
    this.socket.destroy();
    this.onEnd();
  }

  private onPacket(packet: Buffer): void {
    const reader = new JuteReader(packet);
    if (!this.hasHello) {
      this.hasHello = true;
      reader.int();
      const timeoutMs = reader.int();
      this.session = { timeoutMs, id: reader.bigLong(), password: reader.bytes() ?? Buffer.alloc(0) };
      return;
    }
    const xid = reader.int();
    const zxid = reader.long();
    const error = reader.int();
    if (xid === EVENT_XID) {
      this.messages.push(decodeEvent(reader, zxid));
    } else {
      const type = this.types.get(xid);
      if (type === undefined) throw new Error(`reply to unknown request ${xid}`);
      this.types.delete(xid);
      this.messages.push(decodeReply(type, { xid, zxid, error }, reader));
    }
  }

  private onEnd(): void {
    this.isOpen = false;
    this.wake();
  }

  private wake(): void {
    for (const resolve of this.waiters) resolve();
    this.waiters.clear();
  }
}
