import type { Clock } from '../base/clock.js';
import type { ZooKeeperLogger } from '../base/logger.js';
import type { ClientConnection } from './client-connection.js';

/** What all clients together may have waiting for them before those with the most are cut off. */
const MAX_HELD_BYTES = 128 * 1024 * 1024;
/** Counting what every client holds is dear; it is done once for so many bytes queued. */
const LOOK_EVERY_BYTES = 8 * 1024 * 1024;

/** Connections that have not logged in; each holds some kilobytes. */
const MAX_STRANGERS = 100;

/** A connection that says nothing is closed after this time. */
const HANDSHAKE_MS = 30_000;
/** Where there is a login, a connection that has not logged in after this time is closed. */
const LOGIN_MS = 5_000;

/** How many connections there may be. */
export interface ConnectionLimits {
  total: number;
  /** From one address. */
  perAddress: number;
}

/** Decides who is let in, and who has to go so that the server stays well. */
export class ConnectionGate {
  readonly connections = new Set<ClientConnection>();
  private readonly byAddress = new Map<string, number>();
  private queuedSinceLook = 0;

  constructor(
    private readonly limits: ConnectionLimits,
    private readonly clock: Clock,
    private readonly logger: ZooKeeperLogger,
  ) {}

  /** Accepts or closes a connection, and gives an accepted one a deadline for its handshake. @returns whether it was accepted */
  admit(connection: ClientConnection): boolean {
    if (!this.enter(connection)) {
      this.logger.warn('Refused a client connection: too many connections', { client: connection.address });
      connection.close('too many connections');
      return false;
    }
    connection.cancelDeadline = this.clock.setTimer(connection.isTrusted ? HANDSHAKE_MS : LOGIN_MS, () => {
      connection.close(connection.isTrusted ? 'the client did not introduce itself' : 'the client did not log in');
    });
    return true;
  }

  /** Accepts a connection. At a limit, closes one that has not logged in. @returns whether it was accepted */
  private enter(connection: ClientConnection): boolean {
    const { ip } = connection;
    if (!connection.isTrusted) this.limitStrangers();
    const isFull = () =>
      this.connections.size >= this.limits.total || (this.byAddress.get(ip) ?? 0) >= this.limits.perAddress;
    while (isFull()) {
      const fromHere = this.connections.size < this.limits.total;
      const stranger = [...this.connections].find((other) => !other.isTrusted && (!fromHere || other.ip === ip));
      if (stranger === undefined) return false;
      stranger.close('closed before its login: too many connections');
    }
    this.connections.add(connection);
    this.byAddress.set(ip, (this.byAddress.get(ip) ?? 0) + 1);
    return true;
  }

  /** A new one takes the place of the oldest, which should have logged in by now. */
  private limitStrangers(): void {
    const strangers = [...this.connections].filter(({ isTrusted }) => !isTrusted);
    if (strangers.length >= MAX_STRANGERS) strangers[0]?.close('too many clients have not logged in');
  }

  /** The connection is closed. Safe to repeat. */
  remove(connection: ClientConnection): void {
    if (!this.connections.delete(connection)) return;
    const left = (this.byAddress.get(connection.ip) ?? 1) - 1;
    if (left > 0) this.byAddress.set(connection.ip, left);
    else this.byAddress.delete(connection.ip);
  }

  /** That much more waits for clients. Whoever has the most waiting is cut off when it is too much in all. */
  onQueued(bytes: number): void {
    this.queuedSinceLook += bytes;
    if (this.queuedSinceLook < LOOK_EVERY_BYTES) return;
    this.queuedSinceLook = 0;
    const held = [...this.connections].map((connection) => ({ connection, bytes: connection.queuedBytes }));
    let total = held.reduce((sum, each) => sum + each.bytes, 0);
    for (const each of held.sort((a, b) => b.bytes - a.bytes)) {
      if (total <= MAX_HELD_BYTES) return;
      total -= each.bytes;
      this.logger.warn('A client that does not read is cut off', {
        client: each.connection.address,
        bytes: each.bytes,
      });
      each.connection.close('it does not read, and clients that do not read hold too much');
    }
  }
}
