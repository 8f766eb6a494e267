import type { ServerModel } from './model/server-model.js';
import type { Transaction } from './model/transactions.js';

/** The data that are served, and what makes changes of them last. */
export interface ServedStore {
  readonly model: ServerModel;
  /** What was answered up to this batch may be sent once {@link durableBatch} is as large. */
  readonly lastBatch: number;
  readonly durableBatch: number;
  /** Bytes appended that do not last yet. */
  readonly pendingBytes: number;
  /** @param sessionId - whose request it was; `0n`: nobody's */
  append(transaction: Transaction, sessionId: bigint): void;
  /** To be called when all the model did has been appended. */
  snapshotIfDue(): void;
}
