import { lookup } from 'node:dns';
import { connect as connectSocket, isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { type Clock, steadyNow } from '../base/clock.js';
import { formatServer, isSocketPath } from '../base/server-address.js';
import { checkUnixSocket } from '../base/unix-socket.js';
import type { ServerList, Target } from './server-list.js';
import { serverName } from './tls.js';
import { FrameSplitter } from './wire/frames.js';
import { WireReader } from './wire/reader.js';
import { describeStranger } from './wire/stranger.js';

/** Resolves a name to its addresses. */
export type Lookup = (host: string, done: (error: Error | null, addresses: string[]) => void) => void;

/** As the operating system resolves names. */
export const systemLookup: Lookup = (host, done) => {
  lookup(host, { all: true }, (error, found) => done(error, error === null ? found.map(({ address }) => address) : []));
};

/** Opens a connection, which emits `connect` once it is there, and `error` or `close` when it never will be. */
export type OpenStream = () => Duplex;

/** A connection whose server has answered the session request. */
export interface Connection {
  readonly stream: Duplex;
  readonly target: Target;
  /** Holds bytes that came after the answer. */
  readonly frames: FrameSplitter;
  /** What the server granted; zero or less: the session asked for is over. */
  readonly sessionTimeoutMs: number;
  readonly sessionId: Buffer;
  readonly password: Buffer;
  /** When the session request was sent (clock time): the server has heard from us at this time or later. */
  readonly requestedAtMs: number;
}

/** One attempt on one server. */
export interface DialOptions {
  target: Target;
  servers: ServerList;
  tls: ConnectionOptions | undefined;
  clock: Clock;
  lookup: Lookup;
  /** Opens the connection, in place of name lookup, TCP and TLS. */
  open: OpenStream | undefined;
  /** One limit over name lookup, TCP, TLS and the server's answer. */
  deadlineMs: number;
  /** The session request; sent once the server's certificate is verified, never before. */
  request: Buffer;
}

/**
 * Tries one server. Calls `done` exactly once unless aborted; on success synchronously with the answer, so that no
 * byte after it is lost.
 * @returns aborts the attempt
 */
export function dial(
  options: DialOptions,
  done: (error: Error | undefined, connection?: Connection) => void,
): () => void {
  const attempt = new DialAttempt(options, done);
  attempt.start();
  return () => attempt.abort();
}

class DialAttempt {
  readonly #options: DialOptions;
  readonly #done: (error: Error | undefined, connection?: Connection) => void;
  readonly #frames = new FrameSplitter();
  #stage = 'name lookup';
  #stream: Duplex | undefined;
  #settled = false;
  #cancelDeadline: () => void = () => {};
  #requestedAtMs = 0;
  /** How the answer begins. */
  #firstChunk: Buffer | undefined;

  constructor(options: DialOptions, done: (error: Error | undefined, connection?: Connection) => void) {
    this.#options = options;
    this.#done = done;
  }

  start(): void {
    const { clock, deadlineMs, target, lookup: resolve, open } = this.#options;
    this.#cancelDeadline = clock.setTimer(deadlineMs, () => {
      this.#fail(new Error(this.#silenceMessage(deadlineMs)));
    });
    if (open !== undefined) {
      this.#use(open(), 'connect');
      return;
    }
    if (isSocketPath(target.host)) {
      setImmediate(() => this.#openUnixSocket(target.host));
      return;
    }
    if (target.address !== undefined || isIP(target.host) !== 0) {
      this.#open(target.address ?? target.host);
      return;
    }
    resolve(target.host, (error, addresses) => {
      if (this.#settled) return;
      if (error !== null || addresses.length === 0) {
        this.#fail(error ?? new Error('the name has no address'));
        return;
      }
      this.#options.servers.expand(target, addresses);
      const first = this.#options.servers.take();
      this.#open(first?.address ?? (addresses[0] as string));
    });
  }

  abort(): void {
    if (this.#settled) return;
    this.#settle();
    this.#stream?.destroy();
  }

  #open(address: string): void {
    const { target, tls } = this.#options;
    this.#stage = 'TCP connect';
    if (tls === undefined) {
      this.#use(connectSocket({ host: address, port: target.port, noDelay: true }), 'connect');
      return;
    }
    const servername = serverName(tls, target.host);
    const socket = connectTls({ ...tls, host: address, port: target.port, servername });
    socket.setNoDelay(true);
    socket.on('connect', () => (this.#stage = 'TLS handshake'));
    this.#use(socket, 'secureConnect');
  }

  /** No TLS: only the owner of the directory can listen there. */
  #openUnixSocket(path: string): void {
    if (this.#settled) return;
    this.#stage = 'Unix socket connect';
    try {
      checkUnixSocket(path);
    } catch (error) {
      this.#fail(error as Error);
      return;
    }
    this.#use(connectSocket({ path }), 'connect');
  }

  /** @param ready - the event that says that the server can be spoken to */
  #use(stream: Duplex, ready: 'connect' | 'secureConnect'): void {
    this.#stream = stream;
    stream.once(ready, () => this.#request(stream));
    stream.on('data', (chunk: Buffer) => this.#onData(chunk));
    stream.on('error', (error: Error) => this.#fail(error));
    stream.on('close', () => this.#fail(new Error(this.#closedMessage())));
  }

  #request(stream: Duplex): void {
    if (this.#settled) return;
    this.#stage = 'session request';
    this.#requestedAtMs = steadyNow(this.#options.clock);
    stream.write(this.#options.request);
  }

  #onData(chunk: Buffer): void {
    if (this.#settled) return;
    this.#firstChunk ??= chunk;
    try {
      this.#frames.push(chunk);
      const reader = new WireReader();
      if (this.#frames.next(reader)) this.#succeed(reader);
    } catch (error) {
      this.#fail(new Error(describeStranger(this.#firstChunk), { cause: error }));
    }
  }

  #succeed(reader: WireReader): void {
    const stream = this.#stream as Duplex;
    reader.int();
    const sessionTimeoutMs = reader.int();
    const connection: Connection = {
      stream,
      target: this.#options.target,
      frames: this.#frames,
      sessionTimeoutMs,
      sessionId: Buffer.from(readBytes(reader, 8)),
      password: reader.data(),
      requestedAtMs: this.#requestedAtMs,
    };
    this.#settle();
    stream.removeAllListeners('data');
    stream.removeAllListeners('close');
    stream.removeAllListeners('error');
    this.#done(undefined, connection);
  }

  #fail(error: Error): void {
    if (this.#settled) return;
    this.#settle();
    this.#stream?.destroy();
    this.#done(new Error(`${formatServer(this.#options.target)}: ${error.message}`, { cause: error }));
  }

  #settle(): void {
    this.#settled = true;
    this.#cancelDeadline();
  }

  #silenceMessage(deadlineMs: number): string {
    if (this.#firstChunk !== undefined) return describeStranger(this.#firstChunk);
    const hint = this.#stage === 'session request' ? ': it does not answer as ZooKeeper, or is overloaded' : '';
    return `no answer within ${deadlineMs} ms (${this.#stage})${hint}`;
  }

  #closedMessage(): string {
    if (this.#firstChunk !== undefined) return describeStranger(this.#firstChunk);
    const isAfterTls = this.#options.tls !== undefined && this.#stage === 'session request';
    if (isAfterTls) {
      return 'the server closed the connection after the TLS handshake: it may not accept our client certificate';
    }
    const hint = this.#stage === 'session request' ? ': it does not answer as ZooKeeper, or is not ready' : '';
    return `the server closed the connection (${this.#stage})${hint}`;
  }
}

function readBytes(reader: WireReader, count: number): Buffer {
  const bytes = reader.buffer.subarray(reader.offset, reader.offset + count);
  reader.offset += count;
  return bytes;
}
