import type { Socket } from 'node:net';
import { clearInterval, setInterval } from 'node:timers';
import type { ConnectionOptions } from 'node:tls';
import stock from 'node-zookeeper-client';
import ConnectionManager from 'node-zookeeper-client/lib/ConnectionManager.js';
import { type CancelTimer, type Clock, steadyNow } from '../base/clock.js';
import { Backoff } from './backoff.js';
import { dial, type Connection, type Lookup } from './dial.js';
import { ZooKeeperError } from './contract/errors.js';
import { Heartbeat } from './heartbeat.js';
import type { ZooKeeperLogger } from './logger.js';
import { Pipeline } from './pipeline.js';
import { authError, closedError, expiredError, lossError, unreachableError } from './request-errors.js';
import { ServerList, type Target } from './server-list.js';
import { formatServer } from './servers.js';
import type { WatchRegistry } from './watches.js';
import { decodeNothing } from './wire/decode.js';
import { connectRequest, encodeNothing } from './wire/encode.js';
import { OpCode } from './wire/opcodes.js';
import { Request, stripChroot, type PendingRequest } from './wire/request.js';

const STATES = ConnectionManager.STATES;
const CLOSE_DEADLINE_MS = 1_000;
const RETRY_WHILE_CLOSING_MS = 50;
const WARN_EVERY_MS = 10_000;
const MAX_ATTEMPT_MS = 5_000;
const MIN_ATTEMPT_MS = 200;
const LONGEST_TIMER_MS = 0x7fff_ffff;

/** Everything a {@link Transport} is made of; the defaults are in connect.ts. */
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
  /** See {@link Pipeline}. */
  lastXid?: number | undefined;
}

/**
 * The connection under the package's client shell, in place of its own connection manager: keeps a session on one
 * server after the other. What travels over the connection is the {@link Pipeline}'s business.
 */
export class Transport extends ConnectionManager {
  readonly #options: TransportOptions;
  readonly #clock: Clock;
  readonly #servers: ServerList;
  readonly #backoff: Backoff;
  readonly #heartbeat: Heartbeat;
  readonly #pipeline: Pipeline;

  #socket: Socket | undefined;
  #target: Target | undefined;
  /** The server in use has left the list: move on once nothing is in flight. */
  #isMoving = false;
  #isOpen = false;
  #abortDial: CancelTimer | undefined;
  #cancelRetry: CancelTimer = () => {};
  #cancelExpiry: CancelTimer | undefined;
  #cancelWait: CancelTimer | undefined;
  #lastFailure: Error | undefined;
  #lastWarnedAtMs = -Infinity;
  #keepAlive: NodeJS.Timeout | undefined;
  #closing: { done: Promise<void>; finish: () => void; cancelDeadline: CancelTimer } | undefined;

  /** Counts sessions. */
  sessionEpoch = 0;

  constructor(options: TransportOptions) {
    // The list given to the base class is never used: it cannot parse IPv6 and shuffles once for all time.
    super('unused:2181', { sessionTimeout: options.sessionTimeoutMs, spinDelay: 0 }, options.onState);
    this.#options = options;
    this.#clock = options.clock;
    this.#servers = new ServerList(options.servers, options.random);
    this.#backoff = new Backoff(options.sessionTimeoutMs, options.random);
    this.#heartbeat = new Heartbeat(
      options.clock,
      () => this.#pipeline.ping(),
      (silentMs) => this.#drop(`the server has been silent for ${Math.round(silentMs)} ms`),
    );
    this.#pipeline = new Pipeline({
      chroot: options.chroot,
      maxRequestBytes: options.maxRequestBytes,
      logger: options.logger,
      watches: options.watches,
      onPingAnswered: () => this.#heartbeat.pingAnswered(),
      onBroken: (reason) => this.#drop(reason),
      lastXid: options.lastXid ?? 0,
    });
  }

  get requests(): number {
    return this.#pipeline.requests;
  }

  get operations(): number {
    return this.#pipeline.operations;
  }

  get events(): number {
    return this.#pipeline.events;
  }

  get pending(): number {
    return this.#pipeline.pending;
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
    this.#pipeline.authenticate(scheme, auth);
  }

  /** Takes a request: it is sent with all others of this tick, or as soon as there is a connection. */
  submit(request: PendingRequest): void {
    if (this.#closing !== undefined) {
      request.fail(closedError(request));
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
    this.#pipeline.push(request);
    if (this.#socket === undefined) this.#limitWait();
  }

  /** Changes the server list; a connection to a server that is not on it moves as soon as nothing is in flight. */
  resetServers(servers: readonly { host: string; port: number }[]): void {
    this.#servers.replace(servers);
    if (this.#closing !== undefined || !this.#isOpen) return;
    if (this.#socket === undefined) {
      this.#backoff.reset();
      this.#restartAttempts();
      return;
    }
    this.#checkServer();
    this.#moveIfIdle();
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
      this.#sendClose();
    } else if (this.#isOpen && (this.#hasSession || this.#abortDial !== undefined)) {
      // The session would linger until it expires: use the time left to reach a server and end it.
      failAll(this.#pipeline.takeWaiting(), closedError);
      if (this.#abortDial === undefined) this.#restartAttempts();
    } else {
      this.#finishClose();
    }
    return done;
  }

  get #hasSession(): boolean {
    return this.sessionId.some((byte) => byte !== 0);
  }

  get #serverName(): string | undefined {
    return this.#target === undefined ? undefined : formatServer(this.#target);
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
        request: connectRequest(
          this.#pipeline.lastZxid,
          this.#options.sessionTimeoutMs,
          this.sessionId,
          this.sessionPassword,
        ),
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
    const shareMs = Math.floor(this.#options.sessionTimeoutMs / Math.max(2, this.#servers.size));
    return Math.min(MAX_ATTEMPT_MS, Math.max(MIN_ATTEMPT_MS, shareMs));
  }

  /** Why the last attempt to connect failed; `undefined` when there was none since the last success. */
  get lastFailure(): Error | undefined {
    return this.#lastFailure;
  }

  #attemptFailed(error: Error): void {
    if (this.#closing !== undefined && !this.#hasSession) {
      this.#finishClose();
      return;
    }
    this.#lastFailure = error;
    const nowMs = steadyNow(this.#clock);
    if (nowMs - this.#lastWarnedAtMs >= WARN_EVERY_MS) {
      this.#lastWarnedAtMs = nowMs;
      this.#options.logger.warn('Retrying ZooKeeper connection', { error });
    } else {
      this.#options.logger.debug('ZooKeeper connection attempt failed', { error });
    }
    // In a later turn, so that a target that fails at once cannot recurse.
    const immediate = setImmediate(() => this.#attempt());
    this.#cancelRetry = () => clearImmediate(immediate);
  }

  #retryLater(): void {
    const pauseMs = this.#closing === undefined ? this.#backoff.next() : RETRY_WHILE_CLOSING_MS;
    this.#cancelRetry = this.#clock.setTimer(pauseMs, () => this.#attempt());
  }

  #sessionRefused(connection: Connection): void {
    connection.socket.on('error', () => {}); // the answer is known, whatever still happens to the socket
    connection.socket.destroy();
    if (this.#hasSession) this.#expire('the server says it is over');
    else this.#attemptFailed(new Error(`${formatServer(connection.target)}: the server refused a new session`));
  }

  #established(connection: Connection): void {
    this.#lastFailure = undefined;
    const { socket } = connection;
    const isNewSession = !connection.sessionId.equals(this.sessionId);
    this.#socket = socket;
    this.#target = connection.target;
    this.sessionId = connection.sessionId;
    this.sessionPassword = connection.password;
    this.sessionTimeout = connection.sessionTimeoutMs;
    if (isNewSession) this.sessionEpoch += 1;
    this.#lastWarnedAtMs = -Infinity;
    this.#cancelExpiryTimers();
    this.#releaseProcess();
    socket.on('data', (chunk: Buffer) => this.#onData(socket, chunk));
    socket.on('drain', () => this.#pipeline.flush());
    socket.on('error', (error) => this.#options.logger.debug('ZooKeeper socket error', { error }));
    socket.on('close', () => this.#onClosed(socket));
    this.#heartbeat.start(this.sessionTimeout, connection.requestedAtMs);
    this.#pipeline.attach(socket, connection.frames, this.sessionId.readBigInt64BE(), this.credentials);
    if (this.#closing !== undefined) {
      this.#sendClose();
      return;
    }
    this.#checkServer();
    this.#options.logger.info(isNewSession ? 'ZooKeeper session started' : 'ZooKeeper session resumed', {
      server: this.#serverName,
      sessionId: `0x${this.sessionId.toString('hex')}`,
      sessionTimeoutMs: this.sessionTimeout,
    });
    this.setState(STATES.CONNECTED);
  }

  #onData(socket: Socket, chunk: Buffer): void {
    if (socket !== this.#socket) return;
    this.#heartbeat.heard();
    this.#pipeline.receive(socket, chunk);
    this.#moveIfIdle();
  }

  #checkServer(): void {
    this.#isMoving = this.#target !== undefined && !this.#servers.includes(this.#target);
    this.#pipeline.pause(this.#isMoving);
  }

  #moveIfIdle(): void {
    if (this.#isMoving && this.#closing === undefined && this.#pipeline.inFlight === 0) {
      this.#pipeline.isProven = true;
      this.#drop('the server is no longer on the list');
    }
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
    this.#heartbeat.stop();
    const unanswered = this.#pipeline.detach();
    if (this.#closing !== undefined) {
      failAll(unanswered, closedError);
      this.#finishClose();
      return;
    }
    this.#options.logger.info('ZooKeeper connection lost', { server: this.#serverName });
    this.#holdProcess();
    // The state first: who hears of a failed request finds it changed already.
    this.setState(STATES.DISCONNECTED);
    failAll(unanswered, this.#pipeline.isAuthRefused ? authError : lossError);
    if (this.#closing === undefined) this.#reconnect();
  }

  /** Tries to keep the session, until it must be over: no server can have heard from us for the whole timeout. */
  #reconnect(): void {
    const expire = () => this.#expire('no server heard from us in time');
    const remainingMs = this.#heartbeat.confirmedAtMs + this.sessionTimeout - steadyNow(this.#clock);
    if (remainingMs <= 0) {
      expire();
      return;
    }
    this.#cancelExpiry = this.#setPatientTimer(remainingMs, expire);
    this.#servers.startRound(this.#target);
    if (this.#pipeline.isProven) {
      this.#backoff.reset();
      this.#attempt();
    } else {
      // It accepted us and hung up: coming back at once would only flap.
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
    this.#pipeline.forgetZxid();
    this.#options.watches.dropOneShots();
    const waiting = this.#pipeline.takeWaiting();
    if (this.#closing !== undefined) {
      failAll(waiting, closedError);
      this.#finishClose();
      return;
    }
    this.#options.logger.warn('ZooKeeper session lost', { reason });
    this.setState(STATES.SESSION_EXPIRED);
    failAll(waiting, expiredError);
    if (this.#closing === undefined) this.#restartAttempts();
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
    this.#cancelWait = this.#setPatientTimer(this.#options.sessionTimeoutMs, () => {
      this.#cancelWait = undefined;
      failAll(this.#pipeline.takeWaiting(), unreachableError);
    });
  }

  // --- closing ----------------------------------------------------------------------------------------------------

  /** After everything that waits, so that calls made before the close are served. */
  #sendClose(): void {
    const request = new Request<void>(OpCode.CLOSE_SESSION, '/', '', encodeNothing, decodeNothing);
    const finish = () => this.#finishClose();
    request.settleWith(finish, finish);
    this.#pipeline.push(request);
    this.#pipeline.pause(false);
    this.#pipeline.flush();
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
    this.setState(STATES.CLOSED);
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.destroy();
    failAll(this.#pipeline.detach(), closedError);
    failAll(this.#pipeline.takeWaiting(), closedError);
    closing.finish();
  }

  // --- time -------------------------------------------------------------------------------------------------------

  /** After a stalled event loop timers run before data that has long arrived: this one lets it be read first. */
  #setPatientTimer(ms: number, act: () => void): CancelTimer {
    let isCancelled = false;
    const cancelTimer = this.#clock.setTimer(ms, () => {
      setImmediate(() => {
        if (!isCancelled) act();
      });
    });
    return () => {
      isCancelled = true;
      cancelTimer();
    };
  }

  /**
   * An open client keeps the process alive, also between two attempts, when it has no socket to do so: otherwise a
   * command waiting for ZooKeeper would end without a word. Only a handle: nothing ever happens when it fires.
   */
  #holdProcess(): void {
    this.#keepAlive ??= setInterval(() => {}, LONGEST_TIMER_MS);
  }

  #releaseProcess(): void {
    clearInterval(this.#keepAlive);
    this.#keepAlive = undefined;
  }
}

function failAll(requests: readonly PendingRequest[], makeError: (request: PendingRequest) => ZooKeeperError): void {
  for (const request of requests) request.fail(makeError(request));
}
