import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type CancelTimer, type Clock, steadyNow } from '../base/clock.js';
import { type AuthId, type ModelConnection } from './model/connection.js';
import type { Notification, Reply } from './model/replies.js';
import { MAX_PACKET_BYTES, OpCode, Xid } from './model/constants.js';
import type { OfferedSession } from './model/sessions.js';
import { decodeRequest } from './wire/decode-request.js';
import { encodeConnectResponse, encodeEvent, encodeReply } from './wire/encode-reply.js';
import type { JuteWriter } from './wire/jute-writer.js';
import { FrameSplitter } from './wire/frame-splitter.js';
import { JuteReader, MalformedPacketError } from './wire/jute-reader.js';
import type { Request } from './model/requests.js';
import { Outbox } from './outbox.js';

/** The first packet of a client. */
export interface ConnectRequest {
  lastZxidSeen: number;
  timeoutMs: number;
  /** `0n` requests a new session. */
  sessionId: bigint;
  password: Buffer;
  /** Newer clients send a flag for read-only servers, and expect one in the reply. */
  hasReadOnlyFlag: boolean;
}

/** Handler of the events of a connection: the server. */
export interface ConnectionHandler {
  /** A four-letter word instead of a ConnectRequest. */
  onCommand(connection: ClientConnection, command: string): void;
  onConnect(connection: ClientConnection, request: ConnectRequest): void;
  onAuth(connection: ClientConnection, scheme: string, credentials: Buffer): void;
  /** A SASL request, which this server does not support. */
  onSasl(connection: ClientConnection, xid: number): void;
  onRequest(connection: ClientConnection, xid: number, request: Request): void;
  /** A request of unknown type. */
  onUnknown(connection: ClientConnection, xid: number): void;
  /** Called after all packets of a chunk. */
  onChunkEnd(connection: ClientConnection): void;
  /** The connection closes after its queued data. */
  onClosing(connection: ClientConnection): void;
  onClose(connection: ClientConnection, reason: string): void;
  /** The server failed on this connection, which is closed. */
  onError(connection: ClientConnection, error: unknown): void;
  /** More bytes are queued for this client. */
  onQueued(bytes: number): void;
  readonly clock: Clock;
  /** Latest log batch; data sent now depends on it. */
  readonly lastBatch: number;
  /** True while the disk is far behind or long work is running: read no requests. */
  readonly isBusy: boolean;
}

/** After this time on one client, others get a turn. */
const TURN_MS = 20;

/** Queued bytes for one client beyond which its requests are not read. */
const PAUSE_AT_BYTES = 1024 * 1024;

/** Queued bytes beyond which a client is disconnected, as events cannot be held back. */
const CUT_OFF_AT_BYTES = 64 * 1024 * 1024;

/** Before the login: limit of a packet, and of queued data. */
const UNTRUSTED_BYTES = 16 * 1024;

const COMMAND = /^[a-z]{4}$/;

const NO_SESSION = { timeoutMs: 0, id: 0n, password: Buffer.alloc(16) };

/** Stream of a connection; without a network it has no address. */
export type ClientStream = Duplex & Partial<Pick<Socket, 'remoteAddress' | 'remotePort'>>;

/** One client: splits its data into packets, decodes them, and sends replies and events. */
export class ClientConnection implements ModelConnection {
  sessionId = 0n;
  readonly auth: AuthId[];
  readonly ip: string;
  readonly address: string;
  /** A session that begins after the login. */
  offered: OfferedSession | undefined;
  received = 0;
  sent = 0;
  /** Ends the wait for a ConnectRequest, for the login, or for the client to hang up. */
  cancelDeadline: CancelTimer | undefined;
  private readonly frames: FrameSplitter;
  private readonly outbox: Outbox;
  private phase: 'new' | 'connected' | 'closing' | 'closed' = 'new';
  private isPaused = false;

  constructor(
    private readonly stream: ClientStream,
    private readonly handler: ConnectionHandler,
    private trusted: boolean,
  ) {
    this.frames = new FrameSplitter(trusted ? MAX_PACKET_BYTES : UNTRUSTED_BYTES);
    const { remoteAddress, remotePort } = stream;
    const ip = (remoteAddress ?? '127.0.0.1').replace(/^::ffff:/, '');
    this.ip = ip;
    this.address = remoteAddress === undefined ? 'Unix socket' : `${ip}:${remotePort ?? 0}`;
    this.auth = [{ scheme: 'ip', id: ip }];
    this.outbox = new Outbox(stream);
    stream.on('data', (chunk: Buffer) => this.onData(chunk));
    stream.on('drain', () => this.resumeIfPossible());
    stream.on('end', () => {
      if (this.phase !== 'closing') this.close('the client closed the connection');
    });
    stream.on('error', (error) => this.close(error.message));
    stream.on('close', () => this.close('the connection ended'));
  }

  /** Whether the client proved the login, or needs none. */
  get isTrusted(): boolean {
    return this.trusted;
  }

  /** Called when the client proved the login. */
  trust(): void {
    this.trusted = true;
    this.frames.maxPacketBytes = MAX_PACKET_BYTES;
    this.cancelDeadline?.();
  }

  get isClosed(): boolean {
    return this.phase === 'closed';
  }

  /** True while sending or reading waits for the log. */
  get isWaiting(): boolean {
    return this.isPaused || !this.outbox.isEmpty;
  }

  get queuedBytes(): number {
    return this.outbox.bytes;
  }

  sendConnectResponse(session: OfferedSession, request: ConnectRequest): void {
    this.phase = 'connected';
    if (this.trusted) this.cancelDeadline?.();
    this.queue((writer) => encodeConnectResponse(writer, session, request.hasReadOnlyFlag));
  }

  /** Says that a session has ended, and ends the connection. */
  refuseSession(request: ConnectRequest): void {
    this.sendConnectResponse(NO_SESSION, request);
    this.endWhenSent();
  }

  sendReply(xid: number, reply: Reply): void {
    if (this.phase !== 'connected') return;
    this.queue((writer) => encodeReply(writer, xid, reply));
  }

  sendEvent(event: Notification): void {
    if (this.phase !== 'connected') return;
    try {
      this.queue((writer) => encodeEvent(writer, event));
    } catch (error) {
      // Another client caused the event, and must not fail because of this one.
      this.fail(error);
    }
    if (this.outbox.bytes > CUT_OFF_AT_BYTES) this.close('the client does not read its events');
  }

  /** Sends plain text and disconnects. */
  sendText(text: string): void {
    this.phase = 'closing';
    this.stream.end(text);
    this.handler.onClosing(this);
  }

  /** Sends the data that depends on batches up to this. */
  release(durableBatch: number): void {
    if (this.phase === 'closed') return;
    this.outbox.release(durableBatch);
    this.resumeIfPossible();
  }

  /** Closes after the queued data was sent; accepts no more requests. */
  endWhenSent(): void {
    if (this.phase === 'closed') return;
    this.phase = 'closing';
    this.outbox.endWhenSent();
    this.handler.onClosing(this);
  }

  /** Closes at once and drops queued data. */
  close(reason: string): void {
    if (this.phase === 'closed') return;
    this.phase = 'closed';
    this.cancelDeadline?.();
    this.stream.destroy();
    this.handler.onClose(this, reason);
  }

  private queue(encode: (writer: JuteWriter) => void): void {
    this.sent++;
    const writer = this.outbox.writerFor(this.handler.lastBatch);
    const before = writer.length;
    encode(writer);
    this.handler.onQueued(writer.length - before);
  }

  /** Closes because of an error of the server. */
  fail(error: unknown): void {
    if (this.isClosed) return;
    this.handler.onError(this, error);
    this.close('an error of the server');
  }

  private get isBackedUp(): boolean {
    return this.handler.isBusy || this.outbox.bytes > (this.trusted ? PAUSE_AT_BYTES : UNTRUSTED_BYTES);
  }

  private pause(): void {
    this.isPaused = true;
    this.stream.pause();
  }

  private resumeIfPossible(): void {
    if (!this.isPaused || this.isBackedUp) return;
    this.isPaused = false;
    // Other waiting clients come before the rest of this client's chunk.
    setImmediate(() => {
      if (this.isClosed) return;
      this.readPackets();
      if (!this.isPaused) this.stream.resume();
    });
  }

  private onData(chunk: Buffer): void {
    try {
      if (this.phase === 'new' && this.received === 0 && this.takeCommand(chunk)) return;
      this.frames.push(chunk);
    } catch (error) {
      this.fail(error);
      return;
    }
    this.readPackets();
  }

  /** Handles received packets until too many replies are queued. */
  private readPackets(): void {
    const { clock } = this.handler;
    const beganMs = steadyNow(clock);
    try {
      while (!this.isPaused && (this.phase === 'new' || this.phase === 'connected')) {
        if (this.isBackedUp) {
          this.pause();
          break;
        }
        const packet = this.frames.next();
        if (packet === undefined) break;
        this.onPacket(packet);
        if (steadyNow(clock) - beganMs > TURN_MS) this.yieldToOthers();
      }
      if (!this.isClosed) this.handler.onChunkEnd(this);
    } catch (error) {
      if (error instanceof MalformedPacketError) this.close(`malformed packet: ${error.message}`);
      else this.fail(error);
    }
  }

  private yieldToOthers(): void {
    this.pause();
    setImmediate(() => this.resumeIfPossible());
  }

  private takeCommand(chunk: Buffer): boolean {
    const text = chunk.toString('latin1', 0, 4);
    if (!COMMAND.test(text)) return false;
    this.handler.onCommand(this, text);
    return true;
  }

  private onPacket(packet: Buffer): void {
    this.received++;
    const reader = new JuteReader(packet);
    if (this.phase === 'new') this.handler.onConnect(this, readConnectRequest(reader));
    else this.onRequestPacket(reader);
  }

  private onRequestPacket(reader: JuteReader): void {
    const xid = reader.int();
    const type = reader.int();
    if (type === OpCode.auth || xid === Xid.auth) {
      reader.int();
      const scheme = reader.stringOrNull() ?? '';
      this.handler.onAuth(this, scheme, reader.bytes() ?? Buffer.alloc(0));
      return;
    }
    if (type === OpCode.sasl) {
      this.handler.onSasl(this, xid);
      return;
    }
    const request = decodeRequest(type, reader);
    if (request === undefined) this.handler.onUnknown(this, xid);
    else this.handler.onRequest(this, type === OpCode.ping ? Xid.ping : xid, request);
  }
}

function readConnectRequest(reader: JuteReader): ConnectRequest {
  reader.int();
  const lastZxidSeen = reader.long();
  const timeoutMs = reader.int();
  const sessionId = reader.bigLong();
  const password = reader.bytes() ?? Buffer.alloc(0);
  return { lastZxidSeen, timeoutMs, sessionId, password, hasReadOnlyFlag: reader.remaining > 0 };
}
