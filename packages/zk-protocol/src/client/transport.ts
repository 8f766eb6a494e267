import { type CancelTimer, type Clock, steadyNow } from '../base/clock.js';
import { ActiveConnection } from './active-connection.js';
import { Connector, type ConnectorOptions } from './connector.js';
import { ZooKeeperError } from './contract/errors.js';
import type { Connection } from './dial.js';
import { Pipeline } from './pipeline.js';
import { authError, closedError, expiredError, lossError, unreachableError } from './request-errors.js';
import { formatServer } from '../base/server-address.js';
import { LAST_CHANCE_MS, SessionDeadlines } from './session-deadlines.js';
import { Session } from './session.js';
import type { StateListeners } from './state-listeners.js';
import type { WatchRegistry } from './watches.js';
import { decodeNothing } from './wire/decode.js';
import { connectRequest, encodeNothing } from './wire/encode.js';
import { OpCode } from './wire/opcodes.js';
import { Request, stripChroot, type PendingRequest } from './wire/request.js';

const CLOSE_DEADLINE_MS = 1_000;

/** Everything a {@link Transport} is made of; the defaults are in connect.ts. */
export interface TransportOptions extends ConnectorOptions {
  chroot: string;
  maxBacklog: number;
  maxRequestBytes: number;
  serverPauseMs: number;
  watches: WatchRegistry;
  /** Get each new state of the connection. */
  states: StateListeners;
  /** See {@link Pipeline}. */
  lastXid?: number | undefined;
}

/**
 * The connection under the client: keeps a session on one server after the other. Which server is tried when is the {@link Connector}'s business, what travels over the
 * connection the {@link Pipeline}'s.
 */
export class Transport {
  readonly session: Session;
  readonly #options: TransportOptions;
  readonly #clock: Clock;
  readonly #connector: Connector;
  readonly #deadlines: SessionDeadlines;
  readonly #connection: ActiveConnection;
  readonly #pipeline: Pipeline;
  readonly #credentials: { scheme: string; auth: Buffer }[] = [];

  #isOpen = false;
  #isClosed = false;
  #closing: { done: Promise<void>; finish: () => void; cancelDeadline: CancelTimer } | undefined;

  constructor(options: TransportOptions) {
    this.session = new Session(options.sessionTimeoutMs);
    this.#options = options;
    this.#clock = options.clock;
    this.#connector = this.#createConnector();
    this.#deadlines = new SessionDeadlines(options.clock);
    this.#pipeline = new Pipeline({
      chroot: options.chroot,
      maxRequestBytes: options.maxRequestBytes,
      logger: options.logger,
      watches: options.watches,
      onPingAnswered: () => this.#connection.pingAnswered(),
      onBroken: (reason) => this.#connection.drop(reason),
      lastXid: options.lastXid ?? 0,
    });
    this.#connection = new ActiveConnection({
      ...{ clock: options.clock, logger: options.logger, pipeline: this.#pipeline },
      serverName: () => this.#serverName,
      isServerListed: () => this.#connector.isTargetListed,
      lost: () => this.#onLost(),
    });
  }

  /** What has been sent and received, for metrics. */
  get traffic(): Pick<Pipeline, 'requests' | 'operations' | 'writes' | 'events' | 'pending'> {
    return this.#pipeline;
  }

  get serverPauseMs(): number {
    return this.#options.serverPauseMs;
  }

  /** Starts connecting, and keeps the session connected from then on. */
  connect(): void {
    if (this.#isOpen || this.#closing !== undefined) return;
    this.#isOpen = true;
    this.#connector.start();
  }

  addAuthInfo(scheme: string, auth: Buffer): void {
    this.#credentials.push({ scheme, auth });
    this.#pipeline.authenticate(scheme, auth);
  }

  /** Takes a request: it is sent at once or with others of this turn, or as soon as there is a connection. */
  submit(request: PendingRequest): void {
    if (this.#closing !== undefined) {
      request.fail(closedError(request));
      return;
    }
    const { pending } = this.#pipeline;
    if (pending >= this.#options.maxBacklog) {
      request.fail(
        new ZooKeeperError('ZK_BACKLOG_FULL', `${pending} requests wait for ZooKeeper already: slow down`, {
          path: stripChroot(request.chroot, request.path),
        }),
      );
      return;
    }
    this.#pipeline.push(request);
    if (!this.#connection.isOpen) {
      // A session that has lost its connection ends in time; the first one may never come.
      this.#deadlines.limitWait(this.#options.sessionTimeoutMs, () => {
        failAll(this.#pipeline.takeWaiting(), unreachableError);
      });
    }
  }

  /** Changes the server list; a connection to a server that is not on it moves as soon as nothing is in flight. */
  resetServers(servers: readonly { host: string; port: number }[]): void {
    this.#connector.replaceServers(servers);
    if (this.#closing !== undefined || !this.#isOpen) return;
    if (!this.#connection.isOpen) {
      this.#connector.restart(true);
      return;
    }
    this.#connection.checkServer();
    this.#connection.moveIfIdle();
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
    if (this.#connection.isOpen) {
      this.#sendClose();
    } else if (this.#isOpen && (this.session.exists || this.#connector.isDialing)) {
      // The session would linger until it expires: use the time left to reach a server and end it.
      failAll(this.#pipeline.takeWaiting(), closedError);
      if (!this.#connector.isDialing) this.#connector.restart();
    } else {
      this.#finishClose();
    }
    return done;
  }

  get #serverName(): string | undefined {
    const { target } = this.#connector;
    return target && formatServer(target);
  }

  // --- connecting -------------------------------------------------------------------------------------------------

  #createConnector(): Connector {
    const isClosing = () => this.#closing !== undefined;
    return new Connector(this.#options, {
      get isClosing() {
        return isClosing();
      },
      connectRequest: () =>
        connectRequest(this.#pipeline.lastZxid, this.#options.sessionTimeoutMs, this.session.id, this.session.password),
      goesOn: () => {
        if (this.#closing === undefined || this.session.exists) return true;
        this.#finishClose();
        return false;
      },
      answered: (connection) => {
        if (connection.sessionTimeoutMs <= 0) this.#sessionRefused(connection);
        else this.#established(connection);
      },
    });
  }

  /** Why the last attempt to connect failed; `undefined` when there was none since the last success. */
  get lastFailure(): Error | undefined {
    return this.#connector.lastFailure;
  }

  #sessionRefused(connection: Connection): void {
    connection.stream.on('error', () => {}); // the answer is known, whatever still happens to the connection
    connection.stream.destroy();
    if (this.session.exists) this.#expire('the server says it is over');
    else this.#connector.failed(new Error(`${formatServer(connection.target)}: the server refused a new session`));
  }

  #established(connection: Connection): void {
    this.#connector.established(connection.target);
    const isNewSession = this.session.adopt(connection);
    this.#deadlines.cancel();
    this.#connection.open(connection, this.#credentials);
    if (this.#closing !== undefined) {
      this.#sendClose();
      return;
    }
    this.#connection.checkServer();
    this.#options.logger.info(isNewSession ? 'ZooKeeper session started' : 'ZooKeeper session resumed', {
      server: this.#serverName,
      sessionId: `0x${this.session.id.toString('hex')}`,
      sessionTimeoutMs: this.session.timeoutMs,
    });
    this.#options.states.set('CONNECTED');
  }

  // --- losing the connection or the session -----------------------------------------------------------------------

  #onLost(): void {
    const unanswered = this.#pipeline.detach();
    if (this.#closing !== undefined) {
      failAll(unanswered, closedError);
      this.#finishClose();
      return;
    }
    this.#options.logger.info('ZooKeeper connection lost', { server: this.#serverName });
    // The state first: who hears of a failed request finds it changed already.
    this.#options.states.set('SUSPENDED');
    failAll(unanswered, this.#pipeline.isAuthRefused ? authError : lossError);
    if (this.#closing === undefined) this.#reconnect();
  }

  /** Tries to keep the session, until it must be over: no server can have heard from us for the whole timeout. */
  #reconnect(): void {
    const remainingMs =
      this.#connection.confirmedAtMs + this.session.timeoutMs + this.serverPauseMs - steadyNow(this.#clock);
    // Nothing left: this process was paused, and only a server knows whether the session lives.
    this.#deadlines.expireIn(remainingMs > 0 ? remainingMs : LAST_CHANCE_MS, () =>
      this.#expire('no server heard from us in time'),
    );
    this.#connector.reconnect(this.#pipeline.isProven);
  }

  /** The session is over: everybody is told, and a new one is asked for. */
  #expire(reason: string): void {
    this.#connector.cancel();
    this.#deadlines.cancel();
    this.session.forget();
    this.#pipeline.forgetZxid();
    this.#options.watches.dropOneShots();
    const waiting = this.#pipeline.takeWaiting();
    if (this.#closing !== undefined) {
      failAll(waiting, closedError);
      this.#finishClose();
      return;
    }
    this.#options.logger.warn('ZooKeeper session lost', { reason });
    this.#options.states.set('LOST');
    failAll(waiting, expiredError);
    if (this.#closing === undefined) this.#connector.restart();
  }

  // --- closing ----------------------------------------------------------------------------------------------------

  /** After everything that waits, so that calls made before the close are served. */
  #sendClose(): void {
    this.#connection.stay();
    const request = new Request<void>(OpCode.CLOSE_SESSION, '/', '', encodeNothing, decodeNothing);
    const finish = () => this.#finishClose();
    request.settleWith(finish, finish);
    this.#pipeline.push(request);
    this.#pipeline.pause(false);
    this.#pipeline.flush();
  }

  #finishClose(): void {
    const closing = this.#closing;
    if (closing === undefined || this.#isClosed) return;
    closing.cancelDeadline();
    this.#connector.cancel();
    this.#deadlines.cancel();
    this.#isClosed = true;
    this.#connection.shut();
    failAll(this.#pipeline.detach(), closedError);
    failAll(this.#pipeline.takeWaiting(), closedError);
    closing.finish();
  }
}

function failAll(requests: readonly PendingRequest[], makeError: (request: PendingRequest) => ZooKeeperError): void {
  for (const request of requests) request.fail(makeError(request));
}
