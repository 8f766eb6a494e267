import type { Duplex } from 'node:stream';
import type { Clock } from '../../base/clock.js';
import type { EmbeddedLogger } from '../contract/logger.js';
import { type ModelOptions, ServerModel } from '../model/server-model.js';
import type { Transaction } from '../model/transactions.js';
import { ClientConnection } from '../server/client-connection.js';
import { ConnectionGate } from '../server/connection-limits.js';
import { Dispatcher } from '../server/dispatcher.js';
import type { ServedStore } from '../server/served-store.js';

/** Hears of every change, before anybody else does. `sessionId` is whose request, or whose end, caused it. */
export type TransactionListener = (transaction: Transaction, sessionId: bigint) => void;

/** What goes wrong in here is a mistake of ours, and whoever tests has to hear of it. */
const logger: EmbeddedLogger = {
  ...{ debug() {}, info() {}, warn() {} },
  error: (message, fields) => {
    throw new Error(message, { cause: fields?.['error'] });
  },
};

/** Everything lasts at once, as long as this process does. */
class MemoryStore implements ServedStore {
  readonly lastBatch = 0;
  readonly durableBatch = 0;
  readonly pendingBytes = 0;

  constructor(
    readonly model: ServerModel,
    private readonly onTransaction: TransactionListener,
  ) {}

  append(transaction: Transaction, sessionId: bigint): void {
    const end = transaction.changes.find(({ change }) => change === 'closeSession');
    this.onTransaction(transaction, end?.change === 'closeSession' ? end.sessionId : sessionId);
  }

  snapshotIfDue(): void {}
}

/** The embedded server without network and disk, on the given clock. */
export class MemoryServer {
  readonly #dispatcher: Dispatcher;

  constructor(clock: Clock, onTransaction: TransactionListener = () => {}, options: ModelOptions = {}) {
    const gate = new ConnectionGate({ total: Infinity, perAddress: Infinity }, clock, logger);
    this.#dispatcher = new Dispatcher(clock, logger, {}, gate);
    this.#dispatcher.serve(new MemoryStore(new ServerModel(options), onTransaction));
  }

  /** Takes a client's connection. */
  accept(stream: Duplex): void {
    this.#dispatcher.add(new ClientConnection(stream, this.#dispatcher, true));
  }
}
