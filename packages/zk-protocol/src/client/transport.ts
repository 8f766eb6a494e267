import type { Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import stock from 'node-zookeeper-client';
import ConnectionManager from 'node-zookeeper-client/lib/ConnectionManager.js';
import type { CancelTimer, Clock } from '../clock.js';
import { Backoff } from './backoff.js';
import { dial, type Connection, type Lookup } from './dial.js';
import { ZooKeeperError } from './errors.js';
import { Heartbeat } from './heartbeat.js';
import type { ZooKeeperLogger } from './logger.js';
import { RequestQueue } from './request-queue.js';
import { ServerList, type Target } from './server-list.js';
import { operationName, ServerCode } from './server-errors.js';
import { formatServer } from './servers.js';
import type { WatchEvent, WatchListener } from './types.js';
import type { WatchRegistry } from './watches.js';
import { connectRequest, encodeNothing, writeAuth, writeSetWatches } from './wire/encode.js';
import { decodeNothing } from './wire/decode.js';
import { FrameSplitter } from './wire/frames.js';
import { OpCode, Xid } from './wire/opcodes.js';
import { WireReader } from './wire/reader.js';
import { Request, stripChroot, type PendingRequest } from './wire/request.js';
import { WireWriter } from './wire/writer.js';

const STATES = ConnectionManager.STATES;
const PING = Buffer.from([0, 0, 0, 8, 0xff, 0xff, 0xff, 0xfe, 0, 0, 0, OpCode.PING]);
const MAX_XID = 0x7fff_ffff;
/** Bytes encoded before they are handed to the socket within one flush. */
const BATCH_BYTES = 256 * 1024;
const CLOSE_DEADLINE_MS = 1_000;
const WARN_EVERY_MS = 10_000;
const EVENT_TYPES: readonly (WatchEvent['type'] | undefined)[] = [
  undefined,
  'created',
  'deleted',
  'changed',
  'children',
];

export interface TransportOptions {
  servers: readonly { host: string; port: number }[];
  chroot: string;
  /** Called for every attempt, so that renewed certificates are used. */
  tls: () => ConnectionOptions | undefined;
  sessionTimeoutMs: number;
  clock: Clock;
  logger: ZooKeeperLogger;
  maxBacklog: number;
  maxRequestBytes: number;
  random: () => number;
  lookup: Lookup;
  watches: WatchRegistry;
  /** Receives the package's state numbers. */
  onState: (state: number) => void;
}

/**
 * The connection under the package's client shell, in place of its own connection manager: sessions, heartbeats,
 * reconnects, request pipeline and event dispatch.
 */
export class Transport extends ConnectionManager {
  readonly #options: TransportOptions;
  readonly #clock: Clock;
  readonly #servers: ServerList;
  readonly #backoff: Backoff;
  readonly #heartbeat: Heartbeat;
  readonly #writer = new WireWriter();
  readonly #reader = new WireReader();
  readonly #queue = new RequestQueue();
  readonly #inFlight = new RequestQueue();

  #socket: Socket | undefined;
  #target: Target | undefined;
  #frames = new FrameSplitter();
  #lastXid = 0;
  #zxidHigh = 0;
  #zxidLow = 0;
  #isFlushScheduled = false;
  /** True once the connection has answered a request or ping. */
  #isProven = false;
  #isAuthRefused = false;
  /** The server in use has left the list: move on once nothing is in flight. */
  #isMoving = false;
  #isOpen = false;
  #abortDial: (() => void) | undefined;
  #cancelRetry: CancelTimer = () => {};
  #cancelExpiry: CancelTimer | undefined;
  #cancelWait: CancelTimer | undefined;
  #confirmedAtMs = 0;
  #lastWarnedAtMs = -Infinity;
  #keepAlive: NodeJS.Timeout | undefined;
  #closing: { done: Promise<void>; finish: () => void; cancelDeadline: CancelTimer } | undefined;

  sessionEpoch = 0;
  requests = 0;
  operations = 0;
  events = 0;

  constructor(options: TransportOptions) {
    // The list given to the base class is never used: it cannot parse IPv6 and shuffles once for all time.
    super('unused:2181', { sessionTimeout: options.sessionTimeoutMs, spinDelay: 0 }, options.onState);
    this.#options = options;
    this.#clock = options.clock;
    this.#servers = new ServerList(options.servers, options.random);
    this.#backoff = new Backoff(options.random);
    this.#heartbeat = new Heartbeat(
      options.clock,
      () => this.#socket?.write(PING),
      (silentMs) => this.#drop(`the server has been silent for ${Math.round(silentMs)} ms`),
    );
  }

  get pending(): number {
    return this.#queue.length + this.#inFlight.length;
  }

  /** Starts connecting, and keeps the session connected from then on. */
  override connect(): void {
    if (this.#isOpen || this.#closing !== undefined) return;
    this.#isOpen = true;
    this.#attempt();
  }

  /** See {@link closeSession}. */
  override close(): void {
    void this.closeSession();
  }

  /** The package's own requests are not supported: they would bypass the codec. */
  override queue(_request: object, callback?: (error: Error) => void): void {
    callback?.(stock.Exception.create(stock.Exception.UNIMPLEMENTED));
  }

  /** Nothing ever stands in the base class's queue. */
  override onPacketQueueReadable(): void {}

  override addAuthInfo(scheme: string, auth: Buffer): void {
    this.credentials.push({ scheme, auth });
    if (this.#socket === undefined) return;
    writeAuth(this.#writer, scheme, auth);
    this.#scheduleFlush();
  }

  /** Takes a request: it is sent with all others of this tick, or as soon as there is a connection. */
  submit(request: PendingRequest): void {
    if (this.#closing !== undefined) {
      request.fail(closedError());
      return;
    }
    if (this.pending >= this.#options.maxBacklog) {
      request.fail(
        new ZooKeeperError('ZK_BACKLOG_FULL', `${this.pending} requests wait for ZooKeeper already: slow down`, {
          path: stripChroot(request.chroot, request.path),
        }),
      );
      return;
    }
    this.#queue.push(request);
    if (this.#socket !== undefined) this.#scheduleFlush();
    else this.#limitWait();
  }

  /** Changes the server list; a connection to a server that is not on it moves as soon as nothing is in flight. */
  resetServers(servers: readonly { host: string; port: number }[]): void {
    this.#servers.replace(servers);
    if (this.#socket !== undefined && this.#target !== undefined) {
      this.#isMoving = !this.#servers.includes(this.#target);
      this.#moveIfIdle();
      return;
    }
    if (!this.#isOpen) return;
    this.#backoff.reset();
    this.#restartAttempts();
  }

  /** Ends the session. Resolves within a second, also when no server answers. Safe to repeat. */
  closeSession(): Promise<void> {
    if (this.#closing !== undefined) return this.#closing.done;
    let finish = () => {};
    const done = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const cancelDeadline = this.#clock.setTimer(CLOSE_DEADLINE_MS, () => this.#finishClose());
    this.#closing = { done, finish, cancelDeadline };
    this.setState(STATES.CLOSING);
    if (this.#socket !== undefined) {
      this.#queueCloseRequest();
      this.#flush();
    } else if (this.#isOpen && (this.#hasSession || this.#abortDial !== undefined)) {
      // The session would linger until it expires: use the time left to reach a server and end it.
      this.#failAll(this.#queue.drain(), closedError);
      if (this.#abortDial === undefined) this.#restartAttempts();
    } else {
      this.#finishClose();
    }
    return done;
  }

  get #hasSession(): boolean {
    return this.sessionId.some((byte) => byte !== 0);
  }

  // --- connecting -------------------------------------------------------------------------------------------------

  #restartAttempts(): void {
    this.#abortDial?.();
    this.#abortDial = undefined;
    this.#cancelRetry();
    this.#servers.startRound(this.#target);
    this.#attempt();
  }

  #attempt(): void {
    this.#holdProcess();
    const target = this.#servers.take();
    if (target === undefined) {
      this.#servers.startRound(this.#target);
      this.#retryLater();
      return;
    }
    if (this.#closing === undefined) this.setState(STATES.CONNECTING);
    let tls: ConnectionOptions | undefined;
    try {
      tls = this.#options.tls();
    } catch (error) {
      this.#attemptFailed(error as Error);
      return;
    }
    this.#abortDial = dial(
      {
        target,
        servers: this.#servers,
        tls,
        clock: this.#clock,
        lookup: this.#options.lookup,
        deadlineMs: this.#attemptDeadlineMs(),
        request: connectRequest(this.#lastZxid, this.#options.sessionTimeoutMs, this.sessionId, this.sessionPassword),
      },
      (error, connection) => {
        this.#abortDial = undefined;
        if (connection === undefined) this.#attemptFailed(error as Error);
        else if (connection.sessionTimeoutMs <= 0) this.#sessionRefused(connection);
        else this.#established(connection);
      },
    );
  }

  /** All servers get their turn within one session timeout; a lone one gets half of it, so that it is tried twice. */
  #attemptDeadlineMs(): number {
    const share = Math.floor(this.#options.sessionTimeoutMs / Math.max(2, this.#servers.size));
    return Math.min(5_000, Math.max(200, share));
  }

  #attemptFailed(error: Error): void {
    if (this.#closing !== undefined && !this.#hasSession) {
      this.#finishClose();
      return;
    }
    const nowMs = this.#clock.now();
    if (nowMs - this.#lastWarnedAtMs >= WARN_EVERY_MS) {
      this.#lastWarnedAtMs = nowMs;
      this.#options.logger.warn('Retrying ZooKeeper connection', { error });
    } else {
      this.#options.logger.debug('ZooKeeper connection attempt failed', { error });
    }
    // Through the queue, so that a target that fails at once cannot recurse.
    this.#cancelRetry();
    this.#cancelRetry = afterImmediate(() => this.#attempt());
  }

  #retryLater(): void {
    const pauseMs = this.#closing === undefined ? this.#backoff.next() : 50;
    this.#cancelRetry();
    this.#cancelRetry = this.#clock.setTimer(pauseMs, () => this.#attempt());
  }

  #sessionRefused(connection: Connection): void {
    connection.socket.on('error', () => {}); // the answer is known, whatever still happens to the socket
    connection.socket.destroy();
    if (this.#hasSession) this.#expire('the server says so');
    else this.#attemptFailed(new Error(`${formatServer(connection.target)}: the server refused a new session`));
  }

  #established(connection: Connection): void {
    const { socket } = connection;
    const isNewSession = !this.#hasSession || !connection.sessionId.equals(this.sessionId);
    this.#socket = socket;
    this.#target = connection.target;
    this.#frames = connection.frames;
    this.sessionId = connection.sessionId;
    this.#reader.sessionId = connection.sessionId.readBigInt64BE();
    this.sessionPassword = connection.password;
    this.sessionTimeout = connection.sessionTimeoutMs;
    this.#isProven = false;
    this.#isAuthRefused = false;
    this.#isMoving = !this.#servers.includes(connection.target);
    if (isNewSession) this.sessionEpoch += 1;
    this.#cancelExpiryTimers();
    this.#releaseProcess();
    socket.on('data', (chunk: Buffer) => this.#onData(socket, chunk));
    socket.on('drain', () => this.#flush());
    socket.on('error', (error) => this.#options.logger.debug('ZooKeeper socket error', { error }));
    socket.on('close', () => this.#onClosed(socket));
    this.#heartbeat.start(this.sessionTimeout, connection.requestedAtMs);
    this.#lastWarnedAtMs = -Infinity;
    if (this.#closing !== undefined) {
      this.#queueCloseRequest();
      this.#flush();
      return;
    }
    this.#options.logger.info(isNewSession ? 'ZooKeeper session started' : 'ZooKeeper session resumed', {
      server: formatServer(connection.target),
      sessionId: `0x${this.sessionId.toString('hex')}`,
      sessionTimeoutMs: this.sessionTimeout,
    });
    this.#writePreamble();
    this.#scheduleFlush();
    this.setState(STATES.CONNECTED);
  }

  /** Credentials and watches go ahead of everything that waits. */
  #writePreamble(): void {
    for (const { scheme, auth } of this.credentials) writeAuth(this.#writer, scheme, auth);
    const { chroot, watches } = this.#options;
    const toServer = (path: string) => (path === '/' && chroot !== '' ? chroot : chroot + path);
    for (const packet of watches.packets(toServer)) writeSetWatches(this.#writer, this.#lastZxid, packet);
  }

  // --- losing the connection or the session -----------------------------------------------------------------------

  #drop(reason: string): void {
    const socket = this.#socket;
    if (socket === undefined) return;
    this.#options.logger.warn('ZooKeeper connection dropped', { reason, server: this.#serverName });
    socket.destroy();
    // Not waiting for the close event: nothing of this connection counts any more.
    this.#onClosed(socket);
  }

  #onClosed(socket: Socket): void {
    if (socket !== this.#socket) return;
    this.#socket = undefined;
    this.#confirmedAtMs = this.#heartbeat.confirmedAtMs;
    this.#heartbeat.stop();
    this.#writer.take();
    const unanswered = this.#inFlight.drain();
    if (this.#closing !== undefined) {
      this.#failAll(unanswered, closedError);
      this.#finishClose();
      return;
    }
    this.#options.logger.info('ZooKeeper connection lost', { server: this.#serverName });
    this.setState(STATES.DISCONNECTED);
    this.#failAll(unanswered, this.#isAuthRefused ? authError : lossError);
    if (this.#closing !== undefined) return;
    const remainingMs = this.#confirmedAtMs + this.sessionTimeout - this.#clock.now();
    if (remainingMs <= 0) {
      this.#expire('no server heard from us in time');
      return;
    }
    this.#cancelExpiry = this.#afterTimer(remainingMs, () => this.#expire('no server heard from us in time'));
    this.#servers.startRound(this.#target);
    if (this.#isProven) {
      this.#backoff.reset();
      this.#attempt();
    } else {
      // It accepted us and hung up: coming back at once would only flap.
      this.#holdProcess();
      this.#retryLater();
    }
  }

  /** The session is over: everybody is told, and a new one is asked for. */
  #expire(reason: string): void {
    this.#abortDial?.();
    this.#abortDial = undefined;
    this.#cancelRetry();
    this.#cancelExpiryTimers();
    this.sessionId = Buffer.alloc(8);
    this.sessionPassword = Buffer.alloc(16);
    // A server that was set up anew is behind: as long as we claim to have seen more, it would refuse us.
    this.#zxidHigh = 0;
    this.#zxidLow = 0;
    this.#options.watches.dropOneShots();
    const waiting = this.#queue.drain();
    if (this.#closing !== undefined) {
      this.#failAll(waiting, closedError);
      this.#finishClose();
      return;
    }
    this.#options.logger.warn('ZooKeeper session lost', { reason });
    this.setState(STATES.SESSION_EXPIRED);
    this.#failAll(waiting, expiredError);
    if (this.#closing !== undefined) return;
    this.#servers.startRound();
    this.#attempt();
  }

  #cancelExpiryTimers(): void {
    this.#cancelExpiry?.();
    this.#cancelExpiry = undefined;
    this.#cancelWait?.();
    this.#cancelWait = undefined;
  }

  /** Without a session nothing expires: requests wait one session timeout for the first connection. */
  #limitWait(): void {
    if (this.#cancelExpiry !== undefined || this.#cancelWait !== undefined) return;
    this.#cancelWait = this.#afterTimer(this.#options.sessionTimeoutMs, () => {
      this.#cancelWait = undefined;
      this.#failAll(this.#queue.drain(), unreachableError);
    });
  }

  #finishClose(): void {
    const closing = this.#closing;
    if (closing === undefined || this.state === STATES.CLOSED) return;
    closing.cancelDeadline();
    this.#abortDial?.();
    this.#abortDial = undefined;
    this.#cancelRetry();
    this.#cancelExpiryTimers();
    this.#heartbeat.stop();
    this.#releaseProcess();
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.destroy();
    this.setState(STATES.CLOSED);
    this.#failAll(this.#inFlight.drain(), closedError);
    this.#failAll(this.#queue.drain(), closedError);
    closing.finish();
  }

  #failAll(requests: readonly PendingRequest[], makeError: (request: PendingRequest) => ZooKeeperError): void {
    for (const request of requests) request.fail(makeError(request));
  }

  #moveIfIdle(): void {
    if (this.#isMoving && this.#inFlight.length === 0) this.#drop('the server is no longer on the list');
  }

  // --- sending ----------------------------------------------------------------------------------------------------

  #scheduleFlush(): void {
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    setImmediate(this.#onFlush);
  }

  readonly #onFlush = (): void => {
    this.#isFlushScheduled = false;
    this.#flush();
  };

  #flush(): void {
    const socket = this.#socket;
    if (socket === undefined || socket.writableNeedDrain) return;
    if (!this.#isMoving || this.#closing !== undefined) {
      for (let request = this.#queue.peek(); request !== undefined; request = this.#queue.peek()) {
        this.#queue.shift();
        this.#encode(request);
        if (this.#writer.pendingBytes >= BATCH_BYTES && !socket.write(this.#writer.take())) return;
      }
    }
    if (this.#writer.pendingBytes > 0) socket.write(this.#writer.take());
  }

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
      request.fail(badRequest(request, 'it cannot be encoded', error));
      return;
    }
    const length = writer.endFrame(mark);
    if (length > this.#options.maxRequestBytes) {
      writer.rewind(mark);
      request.fail(badRequest(request, `it takes ${length} bytes, the limit is ${this.#options.maxRequestBytes}`));
      return;
    }
    this.requests += 1;
    this.operations += request.weight;
    this.#inFlight.push(request);
  }

  #queueCloseRequest(): void {
    const request = new Request<void>(OpCode.CLOSE_SESSION, '/', '', encodeNothing, decodeNothing);
    const finish = () => this.#finishClose();
    request.settleWith(finish, finish);
    this.#queue.push(request);
  }

  // --- receiving --------------------------------------------------------------------------------------------------

  #onData(socket: Socket, chunk: Buffer): void {
    if (socket !== this.#socket) return;
    this.#heartbeat.heard();
    try {
      this.#frames.push(chunk);
      while (this.#socket === socket && this.#frames.next(this.#reader)) this.#onFrame(this.#reader);
    } catch (error) {
      this.#options.logger.error('ZooKeeper sent something unreadable', { error, server: this.#serverName });
      this.#drop('unreadable data');
      return;
    }
    if (this.#isMoving) this.#moveIfIdle();
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
        this.#isProven = true;
        this.#heartbeat.pingAnswered();
        return;
      case Xid.AUTH:
        if (serverCode !== 0) this.#onAuthRefused(serverCode);
        return;
      case Xid.SET_WATCHES:
        if (serverCode === 0) return;
        this.#options.logger.error('ZooKeeper did not take our watches back', { serverCode });
        this.#drop('watches refused');
        return;
      default:
        this.#onReply(xid, zxidHigh, zxidLow, serverCode, reader);
    }
  }

  #onReply(xid: number, zxidHigh: number, zxidLow: number, serverCode: number, reader: WireReader): void {
    const request = this.#inFlight.peek();
    if (request === undefined || request.xid !== xid) {
      this.#drop(`answer to request ${xid} where ${request?.xid ?? 'none'} was due`);
      return;
    }
    this.#inFlight.shift();
    this.#isProven = true;
    if (zxidHigh > 0 || (zxidHigh === 0 && zxidLow !== 0)) {
      this.#zxidHigh = zxidHigh;
      this.#zxidLow = zxidLow;
    }
    // Before anything else of this chunk is read: the next frame may already be the event.
    if (request.watcher !== undefined) this.#noteOneShot(request, request.watcher, serverCode);
    request.answer(serverCode, reader);
  }

  #noteOneShot(request: PendingRequest, watcher: WatchListener, serverCode: number): void {
    const path = stripChroot(request.chroot, request.path);
    if (serverCode === 0) {
      const kind = request.watchKind === 'children' ? 'children' : 'data';
      this.#options.watches.addOneShot(kind, path, watcher);
    } else if (serverCode === ServerCode.NO_NODE && request.watchKind === 'exists') {
      this.#options.watches.addOneShot('exists', path, watcher);
    }
  }

  #onEvent(reader: WireReader): void {
    const type = EVENT_TYPES[reader.int()];
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
      this.#options.logger.error('A ZooKeeper watch listener failed', { error, path: event.path, type: event.type });
    }
  };

  #onAuthRefused(serverCode: number): void {
    this.#isAuthRefused = true;
    this.#isProven = false;
    this.#options.logger.error('ZooKeeper refused our credentials: check the configured scheme and secret', {
      serverCode,
      server: this.#serverName,
    });
  }

  // --- small things -----------------------------------------------------------------------------------------------

  get #lastZxid(): bigint {
    return (BigInt(this.#zxidHigh) << 32n) | BigInt(this.#zxidLow >>> 0);
  }

  get #serverName(): string | undefined {
    return this.#target === undefined ? undefined : formatServer(this.#target);
  }

  /** A timer that lets arrived data be read before it acts; see {@link Heartbeat}. */
  #afterTimer(ms: number, act: () => void): CancelTimer {
    let cancelled = false;
    const cancelTimer = this.#clock.setTimer(ms, () => {
      setImmediate(() => {
        if (!cancelled) act();
      });
    });
    return () => {
      cancelled = true;
      cancelTimer();
    };
  }

  /** An open client keeps the process alive, also between two attempts, when it has no socket to do so. */
  #holdProcess(): void {
    this.#keepAlive ??= setInterval(() => {}, 0x7fff_ffff);
  }

  #releaseProcess(): void {
    clearInterval(this.#keepAlive);
    this.#keepAlive = undefined;
  }
}

function afterImmediate(act: () => void): CancelTimer {
  const immediate = setImmediate(act);
  return () => clearImmediate(immediate);
}

function describe(request: PendingRequest): { what: string; path: string } {
  const path = stripChroot(request.chroot, request.path);
  return { what: `${operationName(request.opCode)} ${path}`, path };
}

function lossError(request: PendingRequest): ZooKeeperError {
  const { what, path } = describe(request);
  const message = `${what}: the connection broke before the answer; it may or may not have taken effect`;
  return new ZooKeeperError('ZK_CONNECTION_LOSS', message, { path });
}

function authError(request: PendingRequest): ZooKeeperError {
  const { what, path } = describe(request);
  return new ZooKeeperError('ZK_AUTH_FAILED', `${what}: ZooKeeper refused our credentials`, {
    path,
    serverCode: ServerCode.AUTH_FAILED,
  });
}

function expiredError(request: PendingRequest): ZooKeeperError {
  const { what, path } = describe(request);
  const message = `${what}: the session ended before it could be sent; it has not taken effect`;
  return new ZooKeeperError('ZK_SESSION_EXPIRED', message, { path });
}

function unreachableError(request: PendingRequest): ZooKeeperError {
  const { what, path } = describe(request);
  const message = `${what}: no ZooKeeper server could be reached in time; it has not been sent`;
  return new ZooKeeperError('ZK_CONNECTION_LOSS', message, { path });
}

function closedError(request?: PendingRequest): ZooKeeperError {
  const { what, path } = request === undefined ? { what: 'request', path: undefined } : describe(request);
  return new ZooKeeperError('ZK_CLOSED', `${what}: the ZooKeeper client is closed`, { path });
}

function badRequest(request: PendingRequest, why: string, cause?: unknown): ZooKeeperError {
  const { what, path } = describe(request);
  return new ZooKeeperError('ZK_BAD_ARGUMENTS', `${what}: ${why}`, { path, cause });
}
