import { lookup } from 'node:dns/promises';
import StatsDClient from 'statsd-client';
import { type CancelTimer, type Clock, delay, steadyNow } from '@nodepool/zk-protocol';
import type { Logger } from '../../contract/logger.js';

/** Address of the statsd daemon and connection options. */
export interface StatsdConnectionOptions {
  readonly host: string;
  readonly port: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

type Send = (client: StatsDClient) => void;

/** How long the client buffers lines for a datagram. */
const FLUSH_MS = 200;
/** Longer than the client takes to close an idle socket. */
const SETTLE_MS = 50;
/** Maximum number of lines queued while the host name is resolved. */
const MAX_WAITING = 10_000;
const RESOLVE_AGAIN_MS = 60_000;
const RETRY_MS = 30_000;
const CLOSE_PATIENCE_MS = 500;

/**
 * Wraps statsd-client, which resolves the host name for every datagram and ignores failures. Resolves the name at most once a
 * minute and logs failures. Never throws.
 */
export class StatsdConnection {
  readonly #options: StatsdConnectionOptions;
  #client: StatsDClient | undefined;
  #address = '';
  #waiting: Send[] = [];
  #resolving: Promise<void> | undefined;
  #resolveNotBeforeMs = -Infinity;
  #settle: CancelTimer | undefined;
  #lastLineMs = -Infinity;
  #dropped = 0;
  #closed = false;

  constructor(options: StatsdConnectionOptions) {
    this.#options = options;
  }

  /** Number of lines that were not sent. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Sends one line, or queues it while the name is being resolved. */
  send(line: Send): void {
    const mayResolve = !this.#closed && steadyNow(this.#options.clock) >= this.#resolveNotBeforeMs;
    if (mayResolve) this.#resolving ??= this.#resolve();
    if (this.#closed || (!this.#client && (!this.#resolving || this.#waiting.length >= MAX_WAITING))) this.#dropped++;
    else if (this.#client) this.#transmit(this.#client, line);
    else this.#waiting.push(line);
  }

  /** Resolves when all lines are sent or a short timeout expires. Idempotent. */
  async close(): Promise<void> {
    if (this.#closed) return;
    const finished = new AbortController();
    const patience = delay(this.#options.clock, CLOSE_PATIENCE_MS, finished.signal).catch(() => undefined);
    await Promise.race([this.#resolving, patience]);
    finished.abort();
    this.#closed = true;
    this.#settle?.();
    if (!this.#client) return;
    this.#client.raw(''); // as in #settleLater
    await delay(this.#options.clock, FLUSH_MS + SETTLE_MS);
    this.#client.close();
  }

  #transmit(client: StatsDClient, line: Send): void {
    line(client);
    this.#lastLineMs = steadyNow(this.#options.clock);
    this.#settleLater();
  }

  /**
   * If a line arrives while the client closes an idle socket, the client keeps it until the next line. Send an empty line after
   * the last one to flush it; daemons ignore empty lines.
   */
  #settleLater(): void {
    const { clock } = this.#options;
    this.#settle ??= clock.setTimer(FLUSH_MS + SETTLE_MS, () => {
      this.#settle = undefined;
      if (steadyNow(clock) - this.#lastLineMs > FLUSH_MS) this.#client?.raw('');
      else this.#settleLater();
    });
  }

  async #resolve(): Promise<void> {
    const { host, port, clock, logger } = this.#options;
    try {
      // as other statsd clients do: a daemon on localhost listens on 127.0.0.1 more often than on ::1
      const { address, family } = await lookup(host, { verbatim: false });
      this.#resolveNotBeforeMs = steadyNow(clock) + RESOLVE_AGAIN_MS;
      if (this.#closed) return;
      if (this.#client && address === this.#address) return;
      this.#client?.close();
      const client = new StatsDClient({ host: address, port, ipv6: family === 6, socketTimeout: FLUSH_MS });
      this.#client = client;
      this.#address = address;
      for (const line of this.#waiting.splice(0)) this.#transmit(client, line);
    } catch (error) {
      this.#resolveNotBeforeMs = steadyNow(clock) + RETRY_MS;
      const dropped = (this.#dropped += this.#waiting.splice(0).length);
      logger.warn('Could not find the statsd host; trying again later', { host, port, dropped, error });
    } finally {
      this.#resolving = undefined;
    }
  }
}
