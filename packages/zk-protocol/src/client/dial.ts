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

/** Resolves a host name to its addresses. */
export type Lookup = (host: string, done: (error: Error | null, addresses: string[]) => void) => void;

/** Name resolution of the operating system. */
export const systemLookup: Lookup = (host, done) => {
  lookup(host, { all: true }, (error, found) => done(error, error === null ? found.map(({ address }) => address) : []));
};

/** Opens a stream that emits `connect` when it is connected, or `error` or `close` when that failed. */
export type OpenStream = () => Duplex;

/** A connection whose server replied to the session request. */
export interface Connection {
  readonly stream: Duplex;
  readonly target: Target;
  /** Holds data received after the reply. */
  readonly frames: FrameSplitter;
  /** Granted timeout; zero or less if the requested session ended. */
  readonly sessionTimeoutMs: number;
  readonly sessionId: Buffer;
  readonly password: Buffer;
  /** Steady time of the session request: the server received it at this time or later. */
  readonly requestedAtMs: number;
}

/** Settings of one connection attempt. */
export interface DialOptions {
  target: Target;
  servers: ServerList;
  tls: ConnectionOptions | undefined;
  clock: Clock;
  lookup: Lookup;
  /** Opens the connection, in place of name lookup, TCP and TLS. */
  open: OpenStream | undefined;
  /** Time limit of name lookup, TCP, TLS and the server's reply together. */
  deadlineMs: number;
  /** The session request, sent only after the server's certificate is verified. */
  request: Buffer;
}

/**
 * Tries to connect to one server. Calls `done` exactly once unless aborted; on success synchronously with the reply, so that
 * no later data is lost.
 * @returns a function that aborts the attempt
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
  /** Start of the reply. */
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
        this.#fail(error ?? new Error('the host name has no address'));
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

  /** Connects without TLS, as only the owner of the directory can listen there. */
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

  /** @param ready - event after which the session request may be sent */
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
    const hint = this.#stage === 'session request' ? ': it is not ZooKeeper, or overloaded' : '';
    return `no reply within ${deadlineMs} ms (${this.#stage})${hint}`;
  }

  #closedMessage(): string {
    if (this.#firstChunk !== undefined) return describeStranger(this.#firstChunk);
    const isAfterTls = this.#options.tls !== undefined && this.#stage === 'session request';
    if (isAfterTls) {
      return 'the server closed the connection after the TLS handshake: it may have rejected our client certificate';
    }
    const hint = this.#stage === 'session request' ? ': it is not ZooKeeper, or not ready' : '';
    return `the server closed the connection (${this.#stage})${hint}`;
  }
}

function readBytes(reader: WireReader, count: number): Buffer {
  const bytes = reader.buffer.subarray(reader.offset, reader.offset + count);
  reader.offset += count;
  return bytes;
}
