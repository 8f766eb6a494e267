import type { Duplex } from 'node:stream';
import type { Clock } from '../../base/clock.js';
import type { ZooKeeperLogger } from '../../base/logger.js';
import { type ModelOptions, ServerModel } from '../model/server-model.js';
import type { Transaction } from '../model/transactions.js';
import { ClientConnection } from '../client-connection.js';
import { ConnectionGate } from '../connection-limits.js';
import { Dispatcher } from '../dispatcher.js';
import type { ServedStore } from '../served-store.js';

/** Called for each transaction, before any client sees it. `sessionId` is the session that caused it. */
export type TransactionListener = (transaction: Transaction, sessionId: bigint) => void;

/** Transactions of one term of a leader. */
const TERM = 2 ** 32;

/** An error logged in here is a defect: fail the test. */
const throwingLogger: ZooKeeperLogger = {
  ...{ debug() {}, info() {}, warn() {} },
  error: (message, fields) => {
    throw new Error(message, { cause: fields?.['error'] });
  },
};

/** Keeps the data in memory only; every change counts as durable at once. */
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

/** The embedded server without network and disk, running on the given clock. */
export class MemoryServer {
  readonly #dispatcher: Dispatcher;
  readonly #store: MemoryStore;

  constructor(clock: Clock, onTransaction: TransactionListener = () => {}, options: ModelOptions = {}) {
    const gate = new ConnectionGate({ total: Infinity, perAddress: Infinity }, clock, throwingLogger);
    this.#dispatcher = new Dispatcher(clock, throwingLogger, {}, gate);
    this.#store = new MemoryStore(new ServerModel(options), onTransaction);
    this.#dispatcher.serve(this.#store);
  }

  /** Closes all connections, as when another member of an ensemble becomes the leader: its term begins. Sessions live on. */
  changeLeader(): void {
    const { model } = this.#store;
    this.#dispatcher.suspend('another server leads');
    model.restoreCounters((Math.floor(model.lastZxid / TERM) + 1) * TERM, model.lastSessionId);
    this.#dispatcher.serve(this.#store);
  }

  /** Serves a client's connection. */
  accept(stream: Duplex): void {
    this.#dispatcher.add(new ClientConnection(stream, this.#dispatcher, true));
  }
}
