import type { ConnectionOptions } from 'node:tls';
import { type CancelTimer, type Clock, steadyNow } from '../base/clock.js';
import { dial, type Connection, type Lookup, type OpenStream } from './dial.js';
import type { ZooKeeperLogger } from '../base/logger.js';
import { ServerList, type Target } from './server-list.js';
import { backoffMs, type BackoffOptions } from '../base/backoff.js';

const RETRY_WHILE_CLOSING_MS = 50;
const WARN_EVERY_MS = 10_000;
const MAX_ATTEMPT_MS = 5_000;
const MIN_ATTEMPT_MS = 200;

/** Settings of a {@link Connector}. */
export interface ConnectorOptions {
  servers: readonly { host: string; port: number }[];
  /** Called for each attempt, to use renewed certificates. */
  tls: () => ConnectionOptions | undefined;
  sessionTimeoutMs: number;
  clock: Clock;
  logger: ZooKeeperLogger;
  random: () => number;
  lookup: Lookup;
  /** Opens connections, in place of TCP and TLS. */
  open: OpenStream | undefined;
}

/** Context of a {@link Connector}: the session. */
export interface ConnectorPort {
  /** The request that resumes the session or opens a new one. */
  connectRequest(): Buffer;
  /** True if a server is only needed to close the session. */
  readonly isClosing: boolean;
  /** Called after each failed attempt. @returns whether to try again */
  shouldRetry(): boolean;
  /** Called when a server replied; a session timeout of 0, or another session, rejects the session. */
  answered(connection: Connection): void;
}

/** Tries servers until one replies: one round without delay, then rounds with growing delays. */
export class Connector {
  readonly #options: ConnectorOptions;
  readonly #port: ConnectorPort;
  readonly #servers: ServerList;
  readonly #backoff: Backoff;
  #target: Target | undefined;
  #abortDial: CancelTimer | undefined;
  #cancelRetry: CancelTimer = () => {};
  #lastFailure: Error | undefined;
  #lastWarnedAtMs = -Infinity;

  constructor(options: ConnectorOptions, port: ConnectorPort) {
    this.#options = options;
    this.#port = port;
    this.#servers = new ServerList(options.servers, options.random);
    this.#backoff = new Backoff(options.sessionTimeoutMs, options.random);
  }

  /** The server that replied last. */
  get target(): Target | undefined {
    return this.#target;
  }

  /** False if the server that replied last has been removed from the list. */
  get isTargetListed(): boolean {
    return this.#target === undefined || this.#servers.includes(this.#target);
  }

  get isDialing(): boolean {
    return this.#abortDial !== undefined;
  }

  /** Error of the last failed attempt; `undefined` after a success. */
  get lastFailure(): Error | undefined {
    return this.#lastFailure;
  }

  replaceServers(servers: readonly { host: string; port: number }[]): void {
    this.#servers.replace(servers);
  }

  /** Makes the first attempt. */
  start(): void {
    this.#attempt();
  }

  /** Starts a new round; cancels a running attempt. @param fresh - resets the back-off */
  restart(fresh = false): void {
    if (fresh) this.#backoff.reset();
    this.cancel();
    this.#servers.startRound(this.#target);
    this.#attempt();
  }

  /** Reconnects after a lost connection. @param atOnce - false if the server closed the connection without a reply, to avoid flapping */
  reconnect(atOnce: boolean): void {
    this.#servers.startRound(this.#target);
    if (!atOnce) {
      this.#retryLater();
      return;
    }
    this.#backoff.reset();
    this.#attempt();
  }

  /** Called when the connection is in use. */
  established(target: Target): void {
    this.#target = target;
    this.#lastFailure = undefined;
    this.#lastWarnedAtMs = -Infinity;
  }

  /** Cancels the running attempt and the next one. */
  cancel(): void {
    this.#abortDial?.();
    this.#abortDial = undefined;
    this.#cancelRetry();
  }

  /** Handles a failed attempt: continues with the next server. */
  failed(error: Error): void {
    if (!this.#port.shouldRetry()) return;
    this.#lastFailure = error;
    const { clock, logger } = this.#options;
    const nowMs = steadyNow(clock);
    if (nowMs - this.#lastWarnedAtMs >= WARN_EVERY_MS) {
      this.#lastWarnedAtMs = nowMs;
      logger.warn('Retrying ZooKeeper connection', { error });
    } else {
      logger.debug('ZooKeeper connection attempt failed', { error });
    }
    // In a later turn, so that immediate failures do not recurse.
    const immediate = setImmediate(() => this.#attempt());
    this.#cancelRetry = () => clearImmediate(immediate);
  }

  #attempt(): void {
    const { clock, lookup, open } = this.#options;
    const target = this.#servers.take();
    if (target === undefined) {
      this.#servers.startRound(this.#target);
      this.#retryLater();
      return;
    }
    let tls: ConnectionOptions | undefined;
    try {
      tls = this.#options.tls();
    } catch (error) {
      this.failed(error as Error);
      return;
    }
    const request = this.#port.connectRequest();
    this.#abortDial = dial(
      { target, servers: this.#servers, tls, clock, lookup, open, deadlineMs: this.#attemptDeadlineMs(), request },
      (error, connection) => {
        this.#abortDial = undefined;
        if (connection === undefined) this.failed(error as Error);
        else this.#port.answered(connection);
      },
    );
  }

  /** Allows an attempt on each server within one session timeout, and two on a single server. */
  #attemptDeadlineMs(): number {
    const shareMs = Math.floor(this.#options.sessionTimeoutMs / Math.max(2, this.#servers.size));
    return Math.min(MAX_ATTEMPT_MS, Math.max(MIN_ATTEMPT_MS, shareMs));
  }

  #retryLater(): void {
    const pauseMs = this.#port.isClosing ? RETRY_WHILE_CLOSING_MS : this.#backoff.next();
    this.#cancelRetry = this.#options.clock.setTimer(pauseMs, () => this.#attempt());
  }
}

const FIRST_MS = 100;
const LONGEST_MS = 5_000;

/** Delays between connection attempts: at most an eighth of the session timeout, so that a session outlives several attempts. */
class Backoff {
  readonly #options: BackoffOptions;
  readonly #random: () => number;
  #failures = 0;

  constructor(sessionTimeoutMs: number, random: () => number) {
    const longestMs = Math.max(FIRST_MS, Math.min(LONGEST_MS, Math.floor(sessionTimeoutMs / 8)));
    this.#options = { firstMs: FIRST_MS, longestMs, jitter: 0.5 };
    this.#random = random;
  }

  /** The delay before the next attempt, in milliseconds. */
  next(): number {
    return Math.round(backoffMs(this.#failures++, this.#options, this.#random));
  }

  reset(): void {
    this.#failures = 0;
  }
}
