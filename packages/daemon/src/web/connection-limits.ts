import type { Server, Socket } from 'node:net';
import { shareOf } from './client-share.js';

/**
 * Further connections are closed immediately. Each lessee who waits for a lease may keep a stream open, of which a launcher
 * serves 8,000; an open stream takes some 20 KB.
 */
const MOST_CONNECTIONS = 10_000;
/** Connections of one client that have shown no valid token: it must not use up all connections. */
const MOST_ANONYMOUS_PER_CLIENT = 500;

const addressOf = ({ remoteAddress = '' }: Socket) => remoteAddress;
const clientOf = (socket: Socket) => shareOf(addressOf(socket));
/** The same for a TLS socket and the one below it. */
const nameOf = (socket: Socket) => `${addressOf(socket)} ${socket.remotePort}`;

/**
 * Limits the connections of a server. A connection with a valid token counts only for the whole server, because a proxy has the
 * streams of many lessees behind one address.
 */
export class ConnectionLimits {
  readonly #isExempt: (address: string) => boolean;
  /** Names of anonymous connections, by what their client counts by. */
  readonly #anonymous = new Map<string, Set<string>>();

  /** @param isExempt - whether an address has no limit of its own: a trusted proxy */
  constructor(isExempt: (address: string) => boolean) {
    this.#isExempt = isExempt;
  }

  /** Closes connections beyond the limits before reading from them. */
  apply(server: Server): void {
    server.maxConnections = MOST_CONNECTIONS;
    server.prependListener('connection', (socket: Socket) => {
      if (this.#isExempt(addressOf(socket))) return;
      const [client, name] = [clientOf(socket), nameOf(socket)];
      const names = this.#anonymous.get(client) ?? new Set();
      this.#anonymous.set(client, names.add(name));
      socket.once('close', () => this.#forget(client, name));
      if (names.size > MOST_ANONYMOUS_PER_CLIENT) socket.destroy();
    });
  }

  /** The connection has shown a valid token. */
  identified(socket: Socket): void {
    this.#forget(clientOf(socket), nameOf(socket));
  }

  #forget(client: string, name: string): void {
    const names = this.#anonymous.get(client);
    names?.delete(name);
    if (names?.size === 0) this.#anonymous.delete(client);
  }
}
