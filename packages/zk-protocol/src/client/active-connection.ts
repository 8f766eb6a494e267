import type { Duplex } from 'node:stream';
import type { Clock } from '../base/clock.js';
import type { Connection } from './dial.js';
import { Heartbeat } from './heartbeat.js';
import type { ZooKeeperLogger } from '../base/logger.js';
import type { Credential, Pipeline } from './pipeline.js';

/** What an {@link ActiveConnection} works with and tells. */
export interface ActiveConnectionPort {
  readonly clock: Clock;
  readonly logger: ZooKeeperLogger;
  readonly pipeline: Pipeline;
  /** For log lines. */
  serverName(): string | undefined;
  /** False when the server in use has left the list. */
  isServerListed(): boolean;
  /** The connection is gone; what it was used for is still in the pipeline. */
  lost(): void;
}

/** The connection in use, if there is one: carries the pipeline's requests until it breaks or falls silent. */
export class ActiveConnection {
  readonly #port: ActiveConnectionPort;
  readonly #heartbeat: Heartbeat;
  #stream: Duplex | undefined;
  /** The server in use has left the list: move on once nothing is in flight. */
  #isMoving = false;

  constructor(port: ActiveConnectionPort) {
    this.#port = port;
    this.#heartbeat = new Heartbeat(
      port.clock,
      () => port.pipeline.ping(),
      (silentMs) => this.drop(`the server has been silent for ${Math.round(silentMs)} ms`),
    );
  }

  get isOpen(): boolean {
    return this.#stream !== undefined;
  }

  /** When the server last confirmed the session, on the steady clock. */
  get confirmedAtMs(): number {
    return this.#heartbeat.confirmedAtMs;
  }

  /** A ping was answered. */
  pingAnswered(): void {
    this.#heartbeat.pingAnswered();
  }

  /** Puts a connection to use. */
  open(connection: Connection, credentials: readonly Credential[]): void {
    const { pipeline, logger } = this.#port;
    const { stream } = connection;
    this.#stream = stream;
    stream.on('data', (chunk: Buffer) => this.#onData(stream, chunk));
    stream.on('drain', () => pipeline.flush());
    stream.on('error', (error) => logger.debug('ZooKeeper socket error', { error }));
    stream.on('close', () => this.#onClosed(stream));
    this.#heartbeat.start(connection.sessionTimeoutMs, connection.requestedAtMs);
    pipeline.attach(stream, connection.frames, connection.sessionId.readBigInt64BE(), credentials);
  }

  /** Looks whether the server is on the list; if not, nothing new is sent to it. */
  checkServer(): void {
    this.#isMoving = !this.#port.isServerListed();
    this.#port.pipeline.pause(this.#isMoving);
  }

  /** Leaves a server that is not on the list as soon as nothing is in flight. */
  moveIfIdle(): void {
    const { pipeline } = this.#port;
    if (!this.#isMoving || pipeline.inFlight > 0) return;
    pipeline.isProven = true;
    this.drop('the server is no longer on the list');
  }

  /** Stays with the server, whatever the list says: the session is being ended. */
  stay(): void {
    this.#isMoving = false;
  }

  /** Ends the connection and reports it as lost. */
  drop(reason: string): void {
    const stream = this.#stream;
    if (stream === undefined) return;
    this.#port.logger.warn('ZooKeeper connection dropped', { reason, server: this.#port.serverName() });
    stream.destroy();
    // Not waiting for the close event: nothing of this connection counts any more.
    this.#onClosed(stream);
  }

  /** Ends the connection without a report. Safe to repeat. */
  shut(): void {
    const stream = this.#stream;
    this.#stream = undefined;
    this.#heartbeat.stop();
    stream?.destroy();
  }

  #onData(stream: Duplex, chunk: Buffer): void {
    if (stream !== this.#stream) return;
    this.#heartbeat.heard();
    this.#port.pipeline.receive(stream, chunk);
    this.moveIfIdle();
  }

  #onClosed(stream: Duplex): void {
    if (stream !== this.#stream) return;
    this.#stream = undefined;
    this.#heartbeat.stop();
    this.#port.lost();
  }
}
