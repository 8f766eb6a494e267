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

/** Settings of a {@link Transport}; the defaults are in connect.ts. */
export interface TransportOptions extends ConnectorOptions {
  chroot: string;
  maxBacklog: number;
  maxRequestBytes: number;
  serverPauseMs: number;
  watches: WatchRegistry;
  /** Receives each new state of the connection. */
  states: StateListeners;
  /** See {@link Pipeline}. */
  lastXid?: number | undefined;
}

/**
 * Keeps a session alive over successive connections. The {@link Connector} chooses servers, the {@link Pipeline} transfers
 * requests and replies.
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

  /** Traffic counters, for metrics. */
  get traffic(): Pick<Pipeline, 'requests' | 'operations' | 'writes' | 'events' | 'pending'> {
    return this.#pipeline;
  }

  /** How long no server ends the session: one confirmed it at the beginning of this time. */
  get sessionLeftMs(): number {
    if (!this.session.exists) return 0;
    return Math.max(0, this.#connection.confirmedAtMs + this.session.timeoutMs - steadyNow(this.#clock));
  }

  get serverPauseMs(): number {
    return this.#options.serverPauseMs;
  }

  /** Connects, and reconnects until it is closed. */
  connect(): void {
    if (this.#isOpen || this.#closing !== undefined) return;
    this.#isOpen = true;
    this.#connector.start();
  }

  addAuthInfo(scheme: string, auth: Buffer): void {
    this.#credentials.push({ scheme, auth });
    this.#pipeline.authenticate(scheme, auth);
  }

  /** Sends a request now, or after the next connect. */
  submit(request: PendingRequest): void {
    if (this.#closing !== undefined) {
      request.fail(closedError(request));
      return;
    }
    const { pending } = this.#pipeline;
    if (pending >= this.#options.maxBacklog) {
      request.fail(
        new ZooKeeperError(
          'ZK_BACKLOG_FULL',
          `${pending} requests are waiting for ZooKeeper, the limit is ${this.#options.maxBacklog}`,
          {
            path: stripChroot(request.chroot, request.path),
          },
        ),
      );
      return;
    }
    this.#pipeline.push(request);
    if (!this.#connection.isOpen) {
      // A disconnected session expires and rejects its requests; a first session may never begin.
      this.#deadlines.limitWait(this.#options.sessionTimeoutMs, () => {
        failAll(this.#pipeline.takeWaiting(), unreachableError);
      });
    }
  }

  /** Changes the server list. Leaves a server that is not on it as soon as nothing is in flight. */
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

  /** Ends the session, or leaves it to expire. Resolves within a second even without a reply. Safe to repeat. */
  closeSession(isLeft = false): Promise<void> {
    if (this.#closing !== undefined) return this.#closing.done;
    let finish = () => {};
    const done = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const cancelDeadline = this.#clock.setTimer(CLOSE_DEADLINE_MS, () => this.#finishClose());
    this.#closing = { done, finish, cancelDeadline };
    if (!isLeft && this.#connection.isOpen) {
      this.#sendClose();
    } else if (!isLeft && this.#isOpen && (this.session.exists || this.#connector.isDialing)) {
      // Use the remaining time to reach a server and end the session, which would linger until it expires.
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
      shouldRetry: () => {
        if (this.#closing === undefined || this.session.exists) return true;
        this.#finishClose();
        return false;
      },
      answered: (connection) => {
        const refusal = this.session.refusalIn(connection);
        if (refusal === undefined) this.#established(connection);
        else this.#sessionRejected(connection, refusal);
      },
    });
  }

  /** Error of the last failed connection attempt; `undefined` after a success. */
  get lastFailure(): Error | undefined {
    return this.#connector.lastFailure;
  }

  #sessionRejected(connection: Connection, reason: string): void {
    connection.stream.on('error', () => {}).destroy(); // the reply is known, later errors do not matter
    if (this.session.exists) this.#expire(reason);
    else this.#connector.failed(new Error(`${formatServer(connection.target)}: ${reason}`));
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
    // The state first, so that callers see it when their requests fail.
    this.#options.states.set('SUSPENDED');
    failAll(unanswered, this.#pipeline.isAuthRejected ? authError : lossError);
    if (this.#closing === undefined) this.#reconnect();
  }

  /** Tries to resume the session until it must have expired: no server heard from this client for the whole timeout. */
  #reconnect(): void {
    const remainingMs =
      this.#connection.confirmedAtMs + this.session.timeoutMs + this.serverPauseMs - steadyNow(this.#clock);
    // No time left: this process was paused, and only a server knows whether the session is alive.
    this.#deadlines.expireIn(remainingMs > 0 ? remainingMs : LAST_CHANCE_MS, () =>
      this.#expire('no server was reached in time'),
    );
    this.#connector.reconnect(this.#pipeline.isProven);
  }

  /** Ends the session on this side, rejects its requests and connects for a new one. */
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

  /** Sends the close request after all queued requests. */
  #sendClose(): void {
    this.#connection.stay();
    this.#pipeline.push(closeRequest(() => this.#finishClose()));
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
    failAll([...this.#pipeline.detach(), ...this.#pipeline.takeWaiting()], closedError);
    closing.finish();
  }
}

/** @param finish - called with the answer, or without one */
function closeRequest(finish: () => void): PendingRequest {
  const request = new Request<void>(OpCode.CLOSE_SESSION, '/', '', encodeNothing, decodeNothing);
  request.settleWith(finish, finish);
  return request;
}

function failAll(requests: readonly PendingRequest[], makeError: (request: PendingRequest) => ZooKeeperError): void {
  for (const request of requests) request.fail(makeError(request));
}
