import type { Duplex } from 'node:stream';
import type { Clock } from '../../base/clock.js';
import type { ZooKeeperLogger } from '../../base/logger.js';
import { type ModelOptions, ServerModel } from '../model/server-model.js';
import type { Transaction } from '../model/transactions.js';
import type { Znode } from '../model/znode.js';
import { ClientConnection } from '../client-connection.js';
import { ConnectionGate } from '../connection-limits.js';
import { Dispatcher } from '../dispatcher.js';
import type { ServedStore } from '../served-store.js';

/** Called for each transaction, before any client sees it. `sessionId` is the session that caused it. */
export type TransactionListener = (transaction: Transaction, sessionId: bigint) => void;

/** The data of a server at some time. */
export interface DatabaseCopy {
  readonly znodes: readonly (readonly [path: string, node: Znode])[];
  readonly zxid: number;
  readonly lastSessionId: bigint;
}

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
  readonly #options: ModelOptions;
  readonly #onTransaction: TransactionListener;
  #store: MemoryStore;

  constructor(clock: Clock, onTransaction: TransactionListener = () => {}, options: ModelOptions = {}) {
    const gate = new ConnectionGate({ total: Infinity, perAddress: Infinity }, clock, throwingLogger);
    this.#dispatcher = new Dispatcher(clock, throwingLogger, {}, gate);
    this.#options = options;
    this.#onTransaction = onTransaction;
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

  /** The present data, without sessions and their ephemeral znodes. */
  copy(): DatabaseCopy {
    const { tree, lastZxid, lastSessionId } = this.#store.model;
    const lasting = [...tree.entries()].filter(([, { owner }]) => owner === 0n);
    return { znodes: lasting.map(([path, node]) => [path, { ...node }]), zxid: lastZxid, lastSessionId };
  }

  /**
   * Closes all connections and serves another database, in which no session lives. The listener hears nothing of the change.
   * @param copy - default: an empty one
   */
  replace(copy?: DatabaseCopy): void {
    const model = new ServerModel(this.#options);
    if (copy) {
      model.restoreCounters(copy.zxid, copy.lastSessionId);
      for (const [path, node] of copy.znodes) model.tree.restore(path, { ...node, children: undefined });
      model.tree.linkRestored();
    }
    this.#dispatcher.suspend('the server restarts');
    this.#store = new MemoryStore(model, this.#onTransaction);
    this.#dispatcher.serve(this.#store);
  }

  /** Serves a client's connection. */
  accept(stream: Duplex): void {
    this.#dispatcher.add(new ClientConnection(stream, this.#dispatcher, true));
  }
}
