import { join } from 'node:path';
import type { ServerModel } from '../model/server-model.js';
import type { Transaction } from '../model/transactions.js';
import type { ZooKeeperLogger } from '../../base/logger.js';
import { AcknowledgedFile, acknowledgedPath } from './acknowledged.js';
import { DataDirectory } from './data-directory.js';
import type { DirectoryLock } from './directory-lock.js';
import type { FileSystem } from './file-system.js';
import { writeSnapshot } from './snapshot-file.js';
import { SnapshotSource } from './snapshot-source.js';
import { type LogPosition, TransactionLog } from './transaction-log.js';

/** Size of the log at which a snapshot and a new log file are started. */
const SNAPSHOT_LOG_BYTES = 64 * 1024 * 1024;

/** Size of the log from which a snapshot at a stop is worthwhile. */
const STOP_LOG_BYTES = 1024 * 1024;

/** Kept snapshots: the previous one too, in case the newest is damaged. */
const KEPT_SNAPSHOTS = 2;

/** Free space required to resume after a full disk. */
const PROBE_BYTES = 256 * 1024;

/** Settings of a {@link Store}. */
export interface StoreOptions {
  directory: string;
  fs: FileSystem;
  fsync: boolean;
  snapshotEvery: number;
  logger: ZooKeeperLogger;
  lock: Pick<DirectoryLock, 'isCertain' | 'confirm'>;
  createModel: () => ServerModel;
  onDurable: () => void;
  onFailure: (error: unknown) => void;
}

/** A model and its files on disk. */
export class Store {
  private snapshot: Promise<void> | undefined;
  private isClosing = false;
  private isConfirming = false;

  private constructor(
    readonly model: ServerModel,
    private readonly log: TransactionLog,
    private readonly directory: DataDirectory,
    private readonly options: StoreOptions,
    /** Content of the log since the newest snapshot. */
    private logged: { transactions: number; bytes: number },
  ) {}

  /**
   * Reads the directory and opens it for writing.
   * @param fresh - writes a new snapshot and an empty log; after a failed write, when the state of the existing files is
   *   uncertain
   */
  static async open(options: StoreOptions, { fresh = false } = {}): Promise<Store> {
    const store = await Store.load(options, fresh);
    store.snapshotIfDue();
    return store;
  }

  /**
   * Opens the directory again after its disk was full: removes everything that was not durable, and writes nothing that grows
   * with the data.
   * @throws while there is too little free space
   */
  static async reopen(options: StoreOptions, failed: Store): Promise<Store> {
    const { fs, directory: path, logger } = options;
    const directory = new DataDirectory(fs, path, logger);
    await directory.cutTo(failed.log.durableEnd);
    await probeSpace(fs, path);
    const store = await Store.load(options, false);
    store.logged = { transactions: 0, bytes: 0 };
    return store;
  }

  private static async load(options: StoreOptions, fresh: boolean): Promise<Store> {
    const { fs, fsync, logger, lock, onDurable, onFailure } = options;
    await lock.confirm();
    await fs.makeDirectory(options.directory);
    const directory = new DataDirectory(fs, options.directory, logger);
    const loaded = await directory.load(options.createModel);
    if (fresh) await writeWhole(fs, directory, loaded.model);
    const position = fresh ? directory.freshLog(loaded.model) : loaded.position;
    const confirm = () => lock.confirm();
    const log = await TransactionLog.open(
      { fs, directory: directory.path, fsync, confirm, onDurable, onFailure },
      position,
    );
    // Only now: the data that was read may not have been on disk before.
    log.acknowledged = await openAcknowledged(options, loaded.model, position);
    if (fresh) await directory.prune(1);
    const { transactions, bytes } = fresh ? { transactions: 0, bytes: 0 } : loaded;
    return new Store(loaded.model, log, directory, options, { transactions, bytes });
  }

  /** Batch of the latest change. Replies may be sent once {@link durableBatch} has reached it. */
  get lastBatch(): number {
    return this.log.lastBatch;
  }

  /** Less than any batch while another server may hold the directory: no replies may be sent then. */
  get durableBatch(): number {
    if (this.options.lock.isCertain) return this.log.durableBatch;
    void this.confirm();
    return -1;
  }

  get pendingBytes(): number {
    return this.log.pendingBytes;
  }

  append(transaction: Transaction): void {
    const before = this.log.pendingBytes;
    this.log.append(transaction);
    this.logged.transactions++;
    this.logged.bytes += this.log.pendingBytes - before;
  }

  /** Starts a snapshot if enough was logged since the last one. Call after all changes of the model have been appended. */
  snapshotIfDue(): void {
    if (this.snapshot !== undefined || this.isClosing) return;
    const { transactions, bytes } = this.logged;
    if (transactions >= this.options.snapshotEvery || bytes >= SNAPSHOT_LOG_BYTES) this.beginSnapshot();
  }

  /** Resolves with true once everything appended so far is durable, with false when that can never be. */
  settled(): Promise<boolean> {
    return this.log.settled();
  }

  /** Makes a snapshot where it saves the next start time, and closes the files. */
  async close(): Promise<void> {
    this.isClosing = true;
    await this.snapshot;
    if (this.logged.bytes >= STOP_LOG_BYTES && this.options.lock.isCertain && (await this.log.settled())) {
      this.beginSnapshot();
      await this.snapshot;
    }
    await this.log.close();
  }

  private async confirm(): Promise<void> {
    if (this.isConfirming) return;
    this.isConfirming = true;
    try {
      await this.options.lock.confirm();
      this.options.onDurable();
    } catch (error) {
      this.options.onFailure(error);
    } finally {
      this.isConfirming = false;
    }
  }

  private beginSnapshot(): void {
    this.logged = { transactions: 0, bytes: 0 };
    this.log.startFile(this.directory.logFile(this.model.lastZxid + 1));
    const source = new SnapshotSource(this.model);
    this.snapshot = this.writeSnapshot(source).finally(() => {
      source.close();
      this.snapshot = undefined;
    });
  }

  private async writeSnapshot(source: SnapshotSource): Promise<void> {
    const { fs, logger, lock } = this.options;
    const path = this.directory.snapshotPath(source.zxid);
    const temporary = `${path}.tmp`;
    // The snapshot holds what the log has not made durable yet; it must not exist before the log has.
    const logged = this.log.settled();
    try {
      await writeSnapshot(fs, temporary, source);
      if (!(await logged)) throw new Error('the log could not be written');
      if (this.isClosing) await this.log.createFile();
      await lock.confirm();
      await fs.rename(temporary, path);
      await fs.syncDirectory(this.directory.path);
      await this.directory.prune(KEPT_SNAPSHOTS);
      logger.debug('Snapshot written', { path });
    } catch (error) {
      logger.warn('Snapshot failed; the log keeps growing until the next one', { path, error });
      await fs.remove(temporary).catch((cause: unknown) => {
        logger.warn('Unfinished snapshot could not be removed', { path: temporary, error: cause });
      });
    }
  }
}

/** Without syncs nothing is known to survive, so nothing is noted either. */
async function openAcknowledged(
  { fs, fsync, directory }: StoreOptions,
  model: ServerModel,
  { firstZxid, offset = 0 }: LogPosition,
): Promise<AcknowledgedFile | undefined> {
  if (fsync) return AcknowledgedFile.open(fs, directory, { zxid: model.lastZxid, logZxid: firstZxid, offset });
  await fs.remove(acknowledgedPath(directory));
  return undefined;
}

async function probeSpace(fs: FileSystem, directory: string): Promise<void> {
  const path = join(directory, 'space.probe');
  try {
    const file = await fs.open(path, 'create');
    try {
      await file.write(Buffer.alloc(PROBE_BYTES), 0);
      await file.sync();
    } finally {
      await file.close();
    }
  } finally {
    await fs.remove(path);
  }
}

async function writeWhole(fs: FileSystem, directory: DataDirectory, model: ServerModel): Promise<void> {
  const source = new SnapshotSource(model);
  try {
    const path = directory.snapshotPath(source.zxid);
    try {
      await writeSnapshot(fs, `${path}.tmp`, source);
    } catch (error) {
      await fs.remove(`${path}.tmp`);
      throw error;
    }
    await fs.rename(`${path}.tmp`, path);
    await fs.syncDirectory(directory.path);
  } finally {
    source.close();
  }
}
