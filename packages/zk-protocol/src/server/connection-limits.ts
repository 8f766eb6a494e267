import type { Clock } from '../base/clock.js';
import type { ZooKeeperLogger } from '../base/logger.js';
import type { ClientConnection } from './client-connection.js';

/** Queued bytes of all clients beyond which those with the most are disconnected. */
const MAX_HELD_BYTES = 128 * 1024 * 1024;
/** Queued bytes between two counts, as counting visits all clients. */
const COUNT_EVERY_BYTES = 8 * 1024 * 1024;

/** Limit of connections without login, which use some kilobytes each. */
const MAX_UNTRUSTED = 100;

/** Time for a ConnectRequest, after which the connection is closed. */
const HANDSHAKE_MS = 30_000;
/** Time for the login, if there is one, after which the connection is closed. */
const LOGIN_MS = 5_000;

/** Limits of the number of connections. */
export interface ConnectionLimits {
  total: number;
  /** Limit per client address. */
  perAddress: number;
}

/** Admits connections, and disconnects clients that exceed the server's limits. */
export class ConnectionGate {
  readonly connections = new Set<ClientConnection>();
  private readonly byAddress = new Map<string, number>();
  private queuedSinceCount = 0;

  constructor(
    private readonly limits: ConnectionLimits,
    private readonly clock: Clock,
    private readonly logger: ZooKeeperLogger,
  ) {}

  /** Accepts or closes a connection, with a deadline for its handshake. @returns whether it was accepted */
  admit(connection: ClientConnection): boolean {
    if (!this.enter(connection)) {
      this.logger.warn('Rejected client: too many connections', { client: connection.address });
      connection.close('too many connections');
      return false;
    }
    connection.cancelDeadline = this.clock.setTimer(connection.isTrusted ? HANDSHAKE_MS : LOGIN_MS, () => {
      connection.close(connection.isTrusted ? 'the client sent no ConnectRequest' : 'the client did not log in');
    });
    return true;
  }

  /** Accepts a connection; at a limit, closes one without login. @returns whether it was accepted */
  private enter(connection: ClientConnection): boolean {
    const { ip } = connection;
    if (!connection.isTrusted) this.limitUntrusted();
    const isFull = () =>
      this.connections.size >= this.limits.total || (this.byAddress.get(ip) ?? 0) >= this.limits.perAddress;
    while (isFull()) {
      const fromHere = this.connections.size < this.limits.total;
      const victim = [...this.connections].find((other) => !other.isTrusted && (!fromHere || other.ip === ip));
      if (victim === undefined) return false;
      victim.close('closed before its login: too many connections');
    }
    this.connections.add(connection);
    this.byAddress.set(ip, (this.byAddress.get(ip) ?? 0) + 1);
    return true;
  }

  /** At the limit, closes the oldest connection without login. */
  private limitUntrusted(): void {
    const untrusted = [...this.connections].filter(({ isTrusted }) => !isTrusted);
    if (untrusted.length >= MAX_UNTRUSTED) untrusted[0]?.close('too many clients have not logged in');
  }

  /** Removes a closed connection. Safe to repeat. */
  remove(connection: ClientConnection): void {
    if (!this.connections.delete(connection)) return;
    const left = (this.byAddress.get(connection.ip) ?? 1) - 1;
    if (left > 0) this.byAddress.set(connection.ip, left);
    else this.byAddress.delete(connection.ip);
  }

  /** Counts queued bytes; if they exceed the limit, disconnects the clients with the most. */
  onQueued(bytes: number): void {
    this.queuedSinceCount += bytes;
    if (this.queuedSinceCount < COUNT_EVERY_BYTES) return;
    this.queuedSinceCount = 0;
    const held = [...this.connections].map((connection) => ({ connection, bytes: connection.queuedBytes }));
    let total = held.reduce((sum, each) => sum + each.bytes, 0);
    for (const each of held.sort((a, b) => b.bytes - a.bytes)) {
      if (total <= MAX_HELD_BYTES) return;
      total -= each.bytes;
      this.logger.warn('Disconnected client: it does not read its replies', {
        client: each.connection.address,
        bytes: each.bytes,
      });
      each.connection.close('it does not read, and queued data exceeds the limit');
    }
  }
}
