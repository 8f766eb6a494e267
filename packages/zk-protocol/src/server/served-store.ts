import type { ServerModel } from './model/server-model.js';
import type { Transaction } from './model/transactions.js';

/** The served data and their durable storage. */
export interface ServedStore {
  readonly model: ServerModel;
  /** Batch of the latest change. Replies may be sent once {@link durableBatch} has reached it. */
  readonly lastBatch: number;
  readonly durableBatch: number;
  /** Appended bytes that are not durable yet. */
  readonly pendingBytes: number;
  /** @param sessionId - session of the request, or `0n` */
  append(transaction: Transaction, sessionId: bigint): void;
  /** Call after all changes of the model have been appended. */
  snapshotIfDue(): void;
}
