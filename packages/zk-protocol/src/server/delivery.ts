import type { ModelConnection } from './model/connection.js';
import type { Notification, Outcome, Reply } from './model/replies.js';
import type { Sliced } from './model/sliced.js';
import type { ServedStore } from './served-store.js';
import type { ClientConnection } from './client-connection.js';

/** Passes replies and events to connections, which send them once the log is durable. */
export class Delivery {
  /** Number of replies and events. */
  sent = 0;
  private readonly byModel = new Map<ModelConnection, ClientConnection>();
  private readonly waiting = new Set<ClientConnection>();

  add(connection: ClientConnection): void {
    this.byModel.set(connection, connection);
  }

  remove(connection: ClientConnection): void {
    this.byModel.delete(connection);
    this.waiting.delete(connection);
  }

  /** Drops all queued data. */
  clear(): void {
    this.waiting.clear();
  }

  find(connection: ModelConnection): ClientConnection | undefined {
    return this.byModel.get(connection);
  }

  /** Adds a connection with queued data, or with paused reading. */
  wait(connection: ClientConnection): void {
    this.waiting.add(connection);
  }

  /** Sends the data that depends on batches up to this. */
  release(durableBatch: number): void {
    for (const connection of this.waiting) {
      connection.release(durableBatch);
      if (!connection.isWaiting) this.waiting.delete(connection);
    }
  }

  reply(connection: ClientConnection, xid: number, reply: Reply): void {
    this.sent++;
    connection.sendReply(xid, reply);
  }

  /** Appends the changes of an outcome to the log and queues its events. @param sessionId - session of the request, or `0n` */
  *record(store: ServedStore, { transaction, events }: Outcome, sessionId: bigint): Sliced<void> {
    if (transaction !== undefined) store.append(transaction, sessionId);
    for (const event of events) {
      this.event(event);
      yield;
    }
  }

  private event(event: Notification): void {
    const connection = this.byModel.get(event.to);
    if (connection === undefined) return;
    this.sent++;
    this.waiting.add(connection);
    connection.sendEvent(event);
  }
}
