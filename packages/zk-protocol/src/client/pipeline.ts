import type { Duplex } from 'node:stream';
import stock from 'node-zookeeper-client';
import type { ZooKeeperLogger } from '../base/logger.js';
import { badRequest } from './request-errors.js';
import { RequestQueue } from './request-queue.js';
import { ServerCode } from './contract/server-errors.js';
import type { WatchEvent, WatchListener } from './contract/types.js';
import type { WatchRegistry } from './watches.js';
import { writeAuth, writeSetWatches } from './wire/encode.js';
import { FrameSplitter } from './wire/frames.js';
import { OpCode, Xid } from './wire/opcodes.js';
import { WireReader } from './wire/reader.js';
import { stripChroot, type PendingRequest } from './wire/request.js';
import { WireWriter } from './wire/writer.js';

const PING = Buffer.from([0, 0, 0, 8, 0xff, 0xff, 0xff, 0xfe, 0, 0, 0, OpCode.PING]);
const MAX_XID = 0x7fff_ffff;
/** Bytes per write within one flush. */
const BATCH_BYTES = 256 * 1024;
const EVENT_TYPES = new Map<number, WatchEvent['type']>([
  [stock.Event.NODE_CREATED, 'created'],
  [stock.Event.NODE_DELETED, 'deleted'],
  [stock.Event.NODE_DATA_CHANGED, 'changed'],
  [stock.Event.NODE_CHILDREN_CHANGED, 'children'],
]);

/** Credentials of a session. */
export interface Credential {
  scheme: string;
  auth: Buffer;
}

/** Settings of a {@link Pipeline}. */
export interface PipelineOptions {
  chroot: string;
  maxRequestBytes: number;
  logger: ZooKeeperLogger;
  watches: WatchRegistry;
  onPingAnswered: () => void;
  /** Called when the connection must be closed because of a protocol error. */
  onBroken: (reason: string) => void;
  /** The request number before the first. @default 0 */
  lastXid?: number;
}

/** Sends requests and receives replies and events, over successive connections. */
export class Pipeline {
  readonly #options: PipelineOptions;
  readonly #writer = new WireWriter();
  readonly #reader = new WireReader();
  readonly #waiting = new RequestQueue();
  readonly #inFlight = new RequestQueue();
  #frames = new FrameSplitter();
  #stream: Duplex | undefined;
  #lastXid: number;
  #zxidHigh = 0;
  #zxidLow = 0;
  #isFlushScheduled = false;
  #isPaused = false;

  /** True once the connection delivered a reply. */
  isProven = false;
  /** True if the server rejected our credentials. */
  isAuthRejected = false;
  requests = 0;
  operations = 0;
  writes = 0;
  events = 0;

  constructor(options: PipelineOptions) {
    this.#options = options;
    this.#lastXid = options.lastXid ?? 0;
  }

  /** Number of unanswered requests. */
  get pending(): number {
    return this.#waiting.length + this.#inFlight.length;
  }

  get inFlight(): number {
    return this.#inFlight.length;
  }

  /** Id of the last transaction seen. */
  get lastZxid(): bigint {
    return (BigInt(this.#zxidHigh) << 32n) | BigInt(this.#zxidLow >>> 0);
  }

  /** Forgets the last transaction: a server with a new database would reject a client that has seen a later one. */
  forgetZxid(): void {
    this.#zxidHigh = 0;
    this.#zxidLow = 0;
  }

  /** Starts using a connection. Credentials and watches are sent before queued requests. */
  attach(stream: Duplex, frames: FrameSplitter, sessionId: bigint, credentials: readonly Credential[]): void {
    this.#stream = stream;
    this.#frames = frames;
    this.#reader.sessionId = sessionId;
    this.isProven = false;
    this.isAuthRejected = false;
    this.#isPaused = false;
    for (const { scheme, auth } of credentials) writeAuth(this.#writer, scheme, auth);
    const { chroot, watches } = this.#options;
    const toServer = (path: string) => (path === '/' && chroot !== '' ? chroot : chroot + path);
    for (const packet of watches.packets(toServer)) writeSetWatches(this.#writer, this.lastZxid, packet);
    this.#scheduleFlush();
  }

  /** Stops using the connection. @returns the unanswered requests */
  detach(): PendingRequest[] {
    this.#stream = undefined;
    this.#frames = new FrameSplitter();
    this.#writer.take();
    return this.#inFlight.drain();
  }

  /** Removes and returns the unsent requests. */
  takeWaiting(): PendingRequest[] {
    return this.#waiting.drain();
  }

  /**
   * Queues a request. If nothing is in flight, it is sent at once, so that the server works during the rest of this turn;
   * otherwise together with the other requests of this turn, or after the next connect.
   */
  push(request: PendingRequest): void {
    this.#waiting.push(request);
    if (this.#stream === undefined) return;
    if (this.#inFlight.length === 0) this.flush();
    else this.#scheduleFlush();
  }

  authenticate(scheme: string, auth: Buffer): void {
    if (this.#stream === undefined) return;
    writeAuth(this.#writer, scheme, auth);
    this.#scheduleFlush();
  }

  ping(): void {
    this.#stream?.write(PING);
  }

  /** Holds new requests back while those in flight finish; ended by the next {@link attach}. */
  pause(isPaused: boolean): void {
    this.#isPaused = isPaused;
    if (!isPaused && this.#stream !== undefined) this.#scheduleFlush();
  }

  /** Sends queued requests until the stream is full; called again when it has drained. */
  flush(): void {
    const stream = this.#stream;
    if (stream === undefined || stream.writableNeedDrain) return;
    if (!this.#isPaused) {
      for (let request = this.#waiting.shift(); request !== undefined; request = this.#waiting.shift()) {
        this.#encode(request);
        if (this.#writer.pendingBytes >= BATCH_BYTES && !stream.write(this.#writer.take())) return;
      }
    }
    if (this.#writer.pendingBytes > 0) stream.write(this.#writer.take());
  }

  /** Handles received data: settles requests and calls listeners, in order. */
  receive(stream: Duplex, chunk: Buffer): void {
    try {
      this.#frames.push(chunk);
      // A listener may close the connection; ignore the rest of its data.
      while (this.#stream === stream && this.#frames.next(this.#reader)) this.#onFrame(this.#reader);
    } catch (error) {
      this.#options.logger.error('Received malformed data from ZooKeeper', { error });
      this.#options.onBroken('malformed data');
    }
  }

  /** Flushes once per turn of the event loop, so that all its requests go out in one write. */
  #scheduleFlush(): void {
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    setImmediate(this.#onFlush);
  }

  readonly #onFlush = (): void => {
    this.#isFlushScheduled = false;
    this.flush();
  };

  #encode(request: PendingRequest): void {
    const writer = this.#writer;
    this.#lastXid = this.#lastXid === MAX_XID ? 1 : this.#lastXid + 1;
    request.xid = this.#lastXid;
    const mark = writer.beginFrame();
    try {
      writer.int(request.xid);
      writer.int(request.opCode);
      request.encode(writer, request);
    } catch (error) {
      writer.rewind(mark);
      request.fail(badRequest(request, 'the request cannot be encoded', error));
      return;
    }
    const length = writer.endFrame(mark);
    if (length > this.#options.maxRequestBytes) {
      writer.rewind(mark);
      request.fail(
        badRequest(request, `the request has ${length} bytes, the limit is ${this.#options.maxRequestBytes}`),
      );
      return;
    }
    this.requests += 1;
    this.operations += request.weight;
    this.writes += request.writes;
    this.#inFlight.push(request);
  }

  #onFrame(reader: WireReader): void {
    const xid = reader.int();
    const zxidHigh = reader.int();
    const zxidLow = reader.int();
    const serverCode = reader.int();
    switch (xid) {
      case Xid.NOTIFICATION:
        this.#onEvent(reader);
        return;
      case Xid.PING:
        this.isProven = true;
        this.#options.onPingAnswered();
        return;
      case Xid.AUTH:
        if (serverCode !== 0) this.#onAuthRejected(serverCode);
        return;
      case Xid.SET_WATCHES:
        if (serverCode !== 0) this.#options.onBroken(`the server rejected our watches (${serverCode})`);
        return;
      default:
        this.#onReply(xid, zxidHigh, zxidLow, serverCode, reader);
    }
  }

  #onReply(xid: number, zxidHigh: number, zxidLow: number, serverCode: number, reader: WireReader): void {
    const request = this.#inFlight.peek();
    if (request?.xid !== xid) {
      this.#options.onBroken(`reply to request ${xid}, expected ${request?.xid ?? 'none'}`);
      return;
    }
    this.#inFlight.shift();
    this.isProven = true;
    if (zxidHigh > 0 || (zxidHigh === 0 && zxidLow !== 0)) {
      this.#zxidHigh = zxidHigh;
      this.#zxidLow = zxidLow;
    }
    // Before the rest of this chunk: the next frame may be the event.
    if (request.watcher !== undefined) this.#addOneShot(request, request.watcher, serverCode);
    request.answer(serverCode, reader);
  }

  #addOneShot(request: PendingRequest, watcher: WatchListener, serverCode: number): void {
    const path = stripChroot(request.chroot, request.path);
    if (serverCode === 0) {
      const kind = request.watchKind === 'children' ? 'children' : 'data';
      this.#options.watches.addOneShot(kind, path, watcher);
    } else if (serverCode === ServerCode.NO_NODE && request.watchKind === 'exists') {
      this.#options.watches.addOneShot('exists', path, watcher);
    }
  }

  #onEvent(reader: WireReader): void {
    const type = EVENT_TYPES.get(reader.int());
    reader.int();
    if (type === undefined) return;
    this.events += 1;
    const path = stripChroot(this.#options.chroot, reader.string());
    this.#options.watches.dispatch({ type, path }, this.#callListener);
  }

  readonly #callListener = (listener: WatchListener, event: WatchEvent): void => {
    try {
      listener(event);
    } catch (error) {
      this.#options.logger.error('ZooKeeper watch listener failed', { error, path: event.path, type: event.type });
    }
  };

  #onAuthRejected(serverCode: number): void {
    this.isAuthRejected = true;
    this.isProven = false;
    this.#options.logger.error('ZooKeeper rejected our credentials: check the configured scheme and secret', {
      serverCode,
    });
  }
}
