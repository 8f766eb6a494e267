import type { ConnectionOptions } from 'node:tls';
import { type CancelTimer, type Clock, steadyNow } from '../base/clock.js';
import { Backoff } from './backoff.js';
import { dial, type Connection, type Lookup, type OpenStream } from './dial.js';
import type { ZooKeeperLogger } from '../base/logger.js';
import { ServerList, type Target } from './server-list.js';

const RETRY_WHILE_CLOSING_MS = 50;
const WARN_EVERY_MS = 10_000;
const MAX_ATTEMPT_MS = 5_000;
const MIN_ATTEMPT_MS = 200;

/** How servers are reached. */
export interface ConnectorOptions {
  servers: readonly { host: string; port: number }[];
  /** Called for every attempt, so that renewed certificates are used. */
  tls: () => ConnectionOptions | undefined;
  sessionTimeoutMs: number;
  clock: Clock;
  logger: ZooKeeperLogger;
  random: () => number;
  lookup: Lookup;
  /** Opens connections, in place of TCP and TLS. */
  open: OpenStream | undefined;
}

/** What a {@link Connector} asks of the session and tells it. */
export interface ConnectorPort {
  /** The request that asks for the session, or for a new one. */
  connectRequest(): Buffer;
  /** The session is being ended: a server is only sought to say so. */
  readonly isClosing: boolean;
  /** Whether a failed attempt is to be followed by another one; called after each. */
  goesOn(): boolean;
  /** A server has answered; its session timeout is 0 when it refuses the session. */
  answered(connection: Connection): void;
}

/** Tries one server after the other until one answers: a round over all of them at once, then pauses that grow. */
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

  /** The server that answered last. */
  get target(): Target | undefined {
    return this.#target;
  }

  /** False when the server that answered last has left the list. */
  get isTargetListed(): boolean {
    return this.#target === undefined || this.#servers.includes(this.#target);
  }

  get isDialing(): boolean {
    return this.#abortDial !== undefined;
  }

  /** Why the last attempt to connect failed; `undefined` when there was none since the last success. */
  get lastFailure(): Error | undefined {
    return this.#lastFailure;
  }

  replaceServers(servers: readonly { host: string; port: number }[]): void {
    this.#servers.replace(servers);
  }

  /** Begins with the first attempt. */
  start(): void {
    this.#attempt();
  }

  /** Begins anew, whatever is under way. @param fresh - as if no attempt had failed before */
  restart(fresh = false): void {
    if (fresh) this.#backoff.reset();
    this.cancel();
    this.#servers.startRound(this.#target);
    this.#attempt();
  }

  /** After a connection was lost. @param atOnce - false: the server hung up at once, and coming back would only flap */
  reconnect(atOnce: boolean): void {
    this.#servers.startRound(this.#target);
    if (!atOnce) {
      this.#retryLater();
      return;
    }
    this.#backoff.reset();
    this.#attempt();
  }

  /** The connection is in use now. */
  established(target: Target): void {
    this.#target = target;
    this.#lastFailure = undefined;
    this.#lastWarnedAtMs = -Infinity;
  }

  /** Ends what is under way. */
  cancel(): void {
    this.#abortDial?.();
    this.#abortDial = undefined;
    this.#cancelRetry();
  }

  /** An attempt has failed: continues with the next server. */
  failed(error: Error): void {
    if (!this.#port.goesOn()) return;
    this.#lastFailure = error;
    const { clock, logger } = this.#options;
    const nowMs = steadyNow(clock);
    if (nowMs - this.#lastWarnedAtMs >= WARN_EVERY_MS) {
      this.#lastWarnedAtMs = nowMs;
      logger.warn('Retrying ZooKeeper connection', { error });
    } else {
      logger.debug('ZooKeeper connection attempt failed', { error });
    }
    // In a later turn, so that a target that fails at once cannot recurse.
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

  /** All servers get their turn within one session timeout; a lone one gets half of it, so that it is tried twice. */
  #attemptDeadlineMs(): number {
    const shareMs = Math.floor(this.#options.sessionTimeoutMs / Math.max(2, this.#servers.size));
    return Math.min(MAX_ATTEMPT_MS, Math.max(MIN_ATTEMPT_MS, shareMs));
  }

  #retryLater(): void {
    const pauseMs = this.#port.isClosing ? RETRY_WHILE_CLOSING_MS : this.#backoff.next();
    this.#cancelRetry = this.#options.clock.setTimer(pauseMs, () => this.#attempt());
  }
}
