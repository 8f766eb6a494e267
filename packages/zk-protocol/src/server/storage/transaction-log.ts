import type { Transaction } from '../model/transactions.js';
import { JuteWriter } from '../wire/jute-writer.js';
import type { AcknowledgedFile } from './acknowledged.js';
import { encodeTransaction } from './codec.js';
import type { FileSystem, StorageFile } from './file-system.js';
import { writeRecord } from './record.js';

/** First bytes of a log file. */
export const LOG_MAGIC = Buffer.from('NPZKLOG1');

/** Position to continue at: after the last intact record, or in a new file. */
export interface LogPosition extends LogEnd {
  /** Number of the last batch in the file. */
  fileBatch: number;
}

/** Settings of a {@link TransactionLog}. */
export interface TransactionLogOptions {
  fs: FileSystem;
  directory: string;
  /** False is faster, but may lose data in a power failure; a killed process still loses nothing. */
  fsync: boolean;
  /** Resolves while this process holds the directory; otherwise no batch is written or acknowledged. */
  confirm: () => Promise<void>;
  /** Called when a batch is durable. */
  onDurable: () => void;
  /** Called once when a write failed; the log is unusable afterwards. */
  onFailure: (error: unknown) => void;
}

/** A log file and its first transaction. */
export interface LogFile {
  path: string;
  firstZxid: number;
}

/** Durable end of the newest log file; without offset the file does not exist yet. */
export interface LogEnd extends LogFile {
  offset: number | undefined;
}

interface Batch {
  id: number;
  fileBatch: number;
  records: JuteWriter;
  lastZxid: number;
  /** File that starts with this batch. */
  newFile: LogFile | undefined;
}

const BATCH_BUFFER_BYTES = 16 * 1024;

/** The write-ahead log. Records appended during a write form the next batch, so that one sync serves all of them. */
export class TransactionLog {
  /** Batch of the latest record, which is durable once {@link durableBatch} has reached it. */
  lastBatch = 0;
  durableBatch = 0;
  /** Appended bytes that are not durable yet. */
  pendingBytes = 0;
  /** Stores acknowledgements; `undefined` without fsync. */
  acknowledged: AcknowledgedFile | undefined;
  private readonly closed: Batch[] = [];
  private open: Batch;
  private file: StorageFile | undefined;
  private end: LogEnd;
  private running: Promise<void> | undefined;
  private isScheduled = false;
  private hasFailed = false;
  private readonly waiters: { batch: number; resolve: (isDurable: boolean) => void }[] = [];

  private constructor(
    private readonly options: TransactionLogOptions,
    position: LogPosition,
  ) {
    this.open = this.newBatch(position.fileBatch + 1, position.offset === undefined ? position : undefined);
    const { path, firstZxid, offset } = position;
    this.end = { path, firstZxid, offset };
  }

  /** Opens the log for writing at a position. */
  static async open(options: TransactionLogOptions, position: LogPosition): Promise<TransactionLog> {
    const log = new TransactionLog(options, position);
    if (position.offset !== undefined) {
      log.file = await options.fs.open(position.path, 'existing');
      await log.file.truncate(position.offset);
      await log.file.sync();
    }
    return log;
  }

  /** End of the durable data. */
  get durableEnd(): LogEnd {
    return this.end;
  }

  append(transaction: Transaction): void {
    const { records, fileBatch, id } = this.open;
    this.open.lastZxid = transaction.zxid;
    const before = records.length;
    writeRecord(records, { batch: fileBatch, isFirst: before === 0 }, (writer) =>
      encodeTransaction(writer, transaction),
    );
    this.pendingBytes += records.length - before;
    this.lastBatch = id;
    this.schedule();
  }

  /** Writes all later records to a new file. */
  startFile(file: LogFile): void {
    if (this.open.records.length > 0) this.closed.push(this.open);
    this.open = this.newBatch(1, file);
  }

  /** Creates the file of {@link startFile} now. Call when nothing more will be appended. */
  async createFile(): Promise<void> {
    await this.settled();
    await this.running;
    const { newFile } = this.open;
    if (newFile === undefined || this.hasFailed) return;
    await this.switchFile(newFile);
    this.open.newFile = undefined;
    this.end = { ...newFile, offset: LOG_MAGIC.length };
  }

  /** Resolves with true when all appended records are durable, with false if the log failed. */
  settled(): Promise<boolean> {
    const batch = this.lastBatch;
    if (this.durableBatch >= batch) return Promise.resolve(true);
    if (this.hasFailed) return Promise.resolve(false);
    return new Promise((resolve) => this.waiters.push({ batch, resolve }));
  }

  /** Writes pending records and closes the file. */
  async close(): Promise<void> {
    await this.settled();
    this.hasFailed = true;
    await this.running;
    await this.file?.close();
    this.file = undefined;
    await this.acknowledged?.close();
  }

  private newBatch(fileBatch: number, newFile: LogFile | undefined): Batch {
    return { id: this.lastBatch + 1, fileBatch, records: new JuteWriter(BATCH_BUFFER_BYTES), lastZxid: 0, newFile };
  }

  private schedule(): void {
    if (this.isScheduled || this.running !== undefined) return;
    this.isScheduled = true;
    // After the other sockets with data in this turn of the event loop.
    setImmediate(() => {
      this.isScheduled = false;
      this.running = this.run().finally(() => {
        this.running = undefined;
        if (!this.hasFailed && this.open.records.length > 0) this.schedule();
      });
    });
  }

  private async run(): Promise<void> {
    for (let batch = this.takeBatch(); batch !== undefined && !this.hasFailed; batch = this.takeBatch()) {
      try {
        await this.write(batch);
      } catch (error) {
        this.fail(error);
        return;
      }
      this.durableBatch = batch.id;
      this.pendingBytes -= batch.records.length;
      this.options.onDurable();
      this.releaseWaiters();
    }
  }

  private takeBatch(): Batch | undefined {
    const first = this.closed.shift();
    if (first !== undefined) return first;
    const batch = this.open;
    if (batch.records.length === 0) return undefined;
    this.open = this.newBatch(batch.fileBatch + 1, undefined);
    return batch;
  }

  private async write({ newFile, records, lastZxid }: Batch): Promise<void> {
    if (newFile !== undefined) await this.switchFile(newFile);
    if (this.file === undefined) throw new Error('the log has no open file');
    const { path, firstZxid } = newFile ?? this.end;
    const start = newFile === undefined ? (this.end.offset ?? LOG_MAGIC.length) : LOG_MAGIC.length;
    await this.options.confirm();
    await this.file.write(records.finish(), start);
    if (this.options.fsync) await this.file.sync();
    await this.options.confirm();
    const offset = start + records.length;
    this.end = { path, firstZxid, offset };
    this.acknowledged?.note({ zxid: lastZxid, logZxid: firstZxid, offset });
  }

  private async switchFile({ path }: LogFile): Promise<void> {
    const { fs, directory, fsync } = this.options;
    await this.file?.close();
    this.file = undefined;
    this.file = await fs.open(path, 'create');
    await this.file.write(LOG_MAGIC, 0);
    if (fsync) await fs.syncDirectory(directory);
  }

  private fail(error: unknown): void {
    this.hasFailed = true;
    this.releaseWaiters();
    this.options.onFailure(error);
  }

  private releaseWaiters(): void {
    for (let first = this.waiters[0]; first !== undefined; first = this.waiters[0]) {
      const isDurable = first.batch <= this.durableBatch;
      if (!isDurable && !this.hasFailed) return;
      this.waiters.shift();
      first.resolve(isDurable);
    }
  }
}
