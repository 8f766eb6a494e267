import type { Duplex } from 'node:stream';
import type { Clock } from '../base/clock.js';
import type { Connection } from './dial.js';
import { Heartbeat } from './heartbeat.js';
import type { ZooKeeperLogger } from '../base/logger.js';
import type { Credential, Pipeline } from './pipeline.js';

/** Context of an {@link ActiveConnection}. */
export interface ActiveConnectionPort {
  readonly clock: Clock;
  readonly logger: ZooKeeperLogger;
  readonly pipeline: Pipeline;
  /** For log lines. */
  serverName(): string | undefined;
  /** False if the current server has been removed from the list. */
  isServerListed(): boolean;
  /** Called when the connection was lost; its requests are still in the pipeline. */
  lost(): void;
}

/** The current connection, if any: carries the pipeline's requests until it breaks or the server stops responding. */
export class ActiveConnection {
  readonly #port: ActiveConnectionPort;
  readonly #heartbeat: Heartbeat;
  #stream: Duplex | undefined;
  /** The current server has been removed from the list: reconnect once nothing is in flight. */
  #isMoving = false;

  constructor(port: ActiveConnectionPort) {
    this.#port = port;
    this.#heartbeat = new Heartbeat(
      port.clock,
      () => port.pipeline.ping(),
      (silentMs) => this.drop(`no data from the server for ${Math.round(silentMs)} ms`),
    );
  }

  get isOpen(): boolean {
    return this.#stream !== undefined;
  }

  /** Steady time of the last confirmation of the session by the server. */
  get confirmedAtMs(): number {
    return this.#heartbeat.confirmedAtMs;
  }

  /** Called for each reply to a ping. */
  pingAnswered(): void {
    this.#heartbeat.pingAnswered();
  }

  /** Starts using a connection. */
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

  /** Stops sending requests to a server that is not on the list. */
  checkServer(): void {
    this.#isMoving = !this.#port.isServerListed();
    this.#port.pipeline.pause(this.#isMoving);
  }

  /** Leaves a server that is not on the list if nothing is in flight. */
  moveIfIdle(): void {
    const { pipeline } = this.#port;
    if (!this.#isMoving || pipeline.inFlight > 0) return;
    pipeline.isProven = true;
    this.drop('the server is no longer on the list');
  }

  /** Keeps the connection even if the server is not on the list, to end the session. */
  stay(): void {
    this.#isMoving = false;
  }

  /** Closes the connection and reports it as lost. */
  drop(reason: string): void {
    const stream = this.#stream;
    if (stream === undefined) return;
    this.#port.logger.warn('ZooKeeper connection dropped', { reason, server: this.#port.serverName() });
    stream.destroy();
    // Do not wait for the close event: all later data is ignored.
    this.#onClosed(stream);
  }

  /** Closes the connection without a report. Safe to repeat. */
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
