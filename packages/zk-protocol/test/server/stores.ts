import { setImmediate as nextTurn } from 'node:timers/promises';
import { type ServerModel, ServerModel as Model } from '../../src/server/model/server-model.js';
import type { Transaction } from '../../src/server/model/transactions.js';
import { Store } from '../../src/server/storage/store.js';
import type { MemoryFileSystem } from './memory-file-system.js';
import { ModelDriver, randomWrite } from './model-driver.js';
import type { Random } from './random.js';

/** Data directory of the stores. */
export const DIRECTORY = '/data';
/** A lock that is never lost. */
const HELD = { isCertain: true, confirm: () => Promise.resolve() };

interface LogLine {
  level: string;
  message: string;
  fields: Record<string, unknown> | undefined;
}

/** Opens a store, and records what it logs and its failures. */
export async function openStore(fs: MemoryFileSystem, options: { snapshotEvery?: number; fresh?: boolean } = {}) {
  const lines: LogLine[] = [];
  const failures: unknown[] = [];
  const log = (level: string) => (message: string, fields?: Record<string, unknown>) => {
    lines.push({ level, message, fields });
  };
  const store = await Store.open(
    {
      directory: DIRECTORY,
      fs,
      fsync: true,
      snapshotEvery: options.snapshotEvery ?? 1_000_000,
      logger: { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
      lock: HELD,
      createModel: () => new Model(),
      onDurable: () => undefined,
      onFailure: (error) => failures.push(error),
    },
    { fresh: options.fresh ?? false },
  );
  return { store, lines, failures };
}

/** Opens a store again after its disk was full. */
export async function reopenStore(fs: MemoryFileSystem, failed: Store): Promise<Store> {
  const options = {
    ...{ directory: DIRECTORY, fs, fsync: true, snapshotEvery: 1_000_000, createModel: () => new Model() },
    ...{
      lock: HELD,
      logger: { debug() {}, info() {}, warn() {}, error() {} },
      onDurable: () => undefined,
      onFailure: () => undefined,
    },
  };
  return Store.reopen(options, failed);
}

/** The model after some of the transactions. */
export function modelAt(transactions: readonly Transaction[], zxid: number): ServerModel {
  const model = new Model();
  for (const transaction of transactions) {
    if (transaction.zxid <= zxid) model.replay(transaction);
  }
  return model;
}

/** Appends the transactions of its model to a store, and knows which are durable. */
export class WritingDriver extends ModelDriver {
  private readonly batches: { batch: number; zxid: number }[] = [];

  constructor(private readonly store: Store) {
    super(store.model);
  }

  append(): void {
    for (const transaction of this.transactions.slice(this.batches.length)) {
      this.store.append(transaction);
      this.batches.push({ batch: this.store.lastBatch, zxid: transaction.zxid });
    }
  }

  /** Last transaction that may have been acknowledged. */
  get durableZxid(): number {
    return this.batches.findLast(({ batch }) => batch <= this.store.durableBatch)?.zxid ?? 0;
  }
}

/** Writes `count` random transactions; the log runs in between. */
export async function writeRandomly(store: Store, random: Random, count: number): Promise<WritingDriver> {
  const driver = new WritingDriver(store);
  const clients = [driver.connect(), driver.connect()];
  driver.append();
  for (let step = 0; step < count; step++) {
    driver.apply(random.pick(clients), randomWrite(random));
    driver.append();
    store.snapshotIfDue();
    if (random.chance(0.1)) await nextTurn();
  }
  return driver;
}
