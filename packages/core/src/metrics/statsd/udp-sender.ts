import { createSocket, type Socket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { delay, type Clock } from '@nodepool/zk-protocol';
import type { Logger } from '../../logger.js';

/** Where datagrams go. */
export interface UdpSenderOptions {
  readonly host: string;
  readonly port: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Opened {
  readonly socket: Socket;
  readonly address: string;
}

/** Datagrams that may wait for the name to be resolved. */
const MAX_WAITING = 1_000;
const RETRY_MS = 30_000;
const CLOSE_PATIENCE_MS = 500;

/**
 * Sends datagrams to one host. Its name is resolved once, and again only after trouble. Nothing is reported to the
 * caller: what cannot be sent is counted and, now and then, logged. Never keeps the process alive.
 */
export class UdpSender {
  readonly #options: UdpSenderOptions;
  #opened: Opened | undefined;
  #opening: Promise<void> | undefined;
  #waiting: string[] = [];
  #notBeforeMs = 0;
  #warnedMs = -Infinity;
  #underway = 0;
  #idle: (() => void) | undefined;
  #dropped = 0;
  #closed = false;

  constructor(options: UdpSenderOptions) {
    this.#options = options;
  }

  /** Datagrams that were not sent. */
  get dropped(): number {
    return this.#dropped;
  }

  send(datagram: string): void {
    if (this.#opened) {
      this.#transmit(this.#opened, datagram);
      return;
    }
    if (this.#closed || this.#waiting.length >= MAX_WAITING || this.#options.clock.now() < this.#notBeforeMs) {
      this.#dropped++;
      return;
    }
    this.#waiting.push(datagram);
    this.#opening ??= this.#open();
  }

  /** Resolves when everything is on its way, or soon after if that is not to be. */
  async close(): Promise<void> {
    if (this.#closed) return;
    const finished = new AbortController();
    const patience = delay(this.#options.clock, CLOSE_PATIENCE_MS, finished.signal).catch(() => undefined);
    await Promise.race([this.#finish(), patience]);
    finished.abort();
    this.#closed = true;
    this.#opened?.socket.close();
    this.#opened = undefined;
  }

  async #finish(): Promise<void> {
    await this.#opening;
    if (this.#underway > 0) await new Promise<void>((resolve) => (this.#idle = resolve));
  }

  async #open(): Promise<void> {
    const { host, clock } = this.#options;
    try {
      // as other statsd clients do: a daemon on localhost listens on 127.0.0.1 more often than on ::1
      const { address, family } = await lookup(host, { verbatim: false });
      if (this.#closed) return;
      const socket = createSocket(family === 6 ? 'udp6' : 'udp4');
      socket.unref();
      socket.on('error', (error) => this.#fail(error, 1));
      this.#opened = { socket, address };
      for (const datagram of this.#waiting.splice(0)) this.#transmit(this.#opened, datagram);
    } catch (error) {
      this.#notBeforeMs = clock.now() + RETRY_MS;
      this.#fail(error, this.#waiting.splice(0).length);
    } finally {
      this.#opening = undefined;
    }
  }

  #transmit({ socket, address }: Opened, datagram: string): void {
    this.#underway++;
    socket.send(datagram, this.#options.port, address, (error) => {
      if (--this.#underway === 0) this.#idle?.();
      if (error) this.#fail(error, 1);
    });
  }

  /** Starts over with the next datagram. */
  #fail(error: unknown, lost: number): void {
    const { host, port, clock, logger } = this.#options;
    this.#dropped += lost;
    if (this.#opened && !this.#closed) {
      this.#opened.socket.close();
      this.#opened = undefined;
      this.#notBeforeMs = clock.now() + RETRY_MS;
    }
    if (clock.now() - this.#warnedMs < RETRY_MS) return;
    this.#warnedMs = clock.now();
    logger.warn('Could not send metrics to statsd; trying again later', { host, port, dropped: this.#dropped, error });
  }
}
