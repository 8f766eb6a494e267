import type { ServerModel } from '../model/server-model.js';
import type { Transaction } from '../model/transactions.js';
import type { EmbeddedLogger } from '../types.js';
import { DataDirectory } from './data-directory.js';
import type { FileSystem } from './file-system.js';
import { writeSnapshot } from './snapshot-file.js';
import { SnapshotSource } from './snapshot-source.js';
import { TransactionLog } from './transaction-log.js';

/** A log file is closed, and a snapshot made, when it is about this large. */
const SNAPSHOT_LOG_BYTES = 64 * 1024 * 1024;

/** The newest snapshot may be unreadable one day, so the one before stays too. */
const KEPT_SNAPSHOTS = 2;

/** What a {@link Store} works with. */
export interface StoreOptions {
  directory: string;
  fs: FileSystem;
  fsync: boolean;
  snapshotEvery: number;
  logger: EmbeddedLogger;
  createModel: () => ServerModel;
  onDurable: () => void;
  onFailure: (error: unknown) => void;
}

/** A model and its durable form on disk. */
export class Store {
  private transactionsInFile = 0;
  private bytesInFile = 0;
  private snapshot: Promise<void> | undefined;
  private isClosing = false;

  private constructor(
    readonly model: ServerModel,
    private readonly log: TransactionLog,
    private readonly directory: DataDirectory,
    private readonly options: StoreOptions,
  ) {}

  /**
   * Reads the directory and opens it for writing.
   * @param fresh - write everything anew: a snapshot and an empty log. For a start after a failed write, when what the
   *   operating system says about the files can no longer be believed
   */
  static async open(options: StoreOptions, { fresh = false } = {}): Promise<Store> {
    const { fs, fsync, logger, onDurable, onFailure } = options;
    await fs.makeDirectory(options.directory);
    const directory = new DataDirectory(fs, options.directory, logger);
    const loaded = await directory.load(options.createModel);
    if (fresh) await writeWhole(fs, directory, loaded.model);
    const position = fresh ? directory.freshLog(loaded.model) : loaded.position;
    const log = await TransactionLog.open({ fs, directory: options.directory, fsync, onDurable, onFailure }, position);
    if (fresh) await directory.prune(1);
    return new Store(loaded.model, log, directory, options);
  }

  /** What was answered up to this batch may be sent once {@link durableBatch} is as large. */
  get lastBatch(): number {
    return this.log.lastBatch;
  }

  get durableBatch(): number {
    return this.log.durableBatch;
  }

  get pendingBytes(): number {
    return this.log.pendingBytes;
  }

  append(transaction: Transaction): void {
    const before = this.log.pendingBytes;
    this.log.append(transaction);
    this.transactionsInFile++;
    this.bytesInFile += this.log.pendingBytes - before;
  }

  /** Begins a snapshot when enough was logged since the last. To be called when all the model did has been appended. */
  snapshotIfDue(): void {
    if (this.snapshot !== undefined || this.isClosing) return;
    if (this.transactionsInFile < this.options.snapshotEvery && this.bytesInFile < SNAPSHOT_LOG_BYTES) return;
    this.transactionsInFile = 0;
    this.bytesInFile = 0;
    this.log.startFile(this.directory.logPath(this.model.lastZxid + 1));
    const source = new SnapshotSource(this.model);
    this.snapshot = this.writeSnapshot(source).finally(() => {
      source.close();
      this.snapshot = undefined;
    });
  }

  /** Resolves with true once everything appended so far is durable, with false when that can never be. */
  settled(): Promise<boolean> {
    return this.log.settled();
  }

  async close(): Promise<void> {
    this.isClosing = true;
    await this.snapshot;
    await this.log.close();
  }

  private async writeSnapshot(source: SnapshotSource): Promise<void> {
    const { fs, logger } = this.options;
    const path = this.directory.snapshotPath(source.zxid);
    const temporary = `${path}.tmp`;
    // The snapshot holds what the log has not made durable yet; it must not exist before the log has.
    const logged = this.log.settled();
    try {
      await writeSnapshot(fs, temporary, source);
      if (!(await logged)) throw new Error('the log could not be written');
      await fs.rename(temporary, path);
      await fs.syncDirectory(this.directory.path);
      await this.directory.prune(KEPT_SNAPSHOTS);
      logger.debug('snapshot written', { path });
    } catch (error) {
      logger.warn('snapshot failed; the log keeps growing until the next one', { path, error });
      await fs.remove(temporary).catch((cause: unknown) => {
        logger.warn('unfinished snapshot could not be removed', { path: temporary, error: cause });
      });
    }
  }
}

async function writeWhole(fs: FileSystem, directory: DataDirectory, model: ServerModel): Promise<void> {
  const source = new SnapshotSource(model);
  try {
    const path = directory.snapshotPath(source.zxid);
    await writeSnapshot(fs, `${path}.tmp`, source);
    await fs.rename(`${path}.tmp`, path);
    await fs.syncDirectory(directory.path);
  } finally {
    source.close();
  }
}
