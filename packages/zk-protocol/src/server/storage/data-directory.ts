import { join } from 'node:path';
import { EmbeddedServerError } from './server-error.js';
import type { ZooKeeperLogger } from '../../base/logger.js';
import type { ServerModel } from '../model/server-model.js';
import { JuteReader, MalformedPacketError } from '../wire/jute-reader.js';
import { decodeTransaction } from './codec.js';
import type { FileSystem } from './file-system.js';
import { RecordFile, type RecordsEnd } from './record-file.js';
import { readSnapshot } from './snapshot-file.js';
import { type Acknowledged, acknowledgedPath, readAcknowledged } from './acknowledged.js';
import { LOG_MAGIC, type LogEnd, type LogFile, type LogPosition } from './transaction-log.js';

const NAME = /^(log|snapshot)\.([0-9a-f]{16})$/;

interface NumberedFile {
  path: string;
  /** First transaction of a log, last transaction of a snapshot. */
  zxid: number;
}

/** Content of a data directory. */
interface Loaded {
  model: ServerModel;
  /** Position at which the log continues. */
  position: LogPosition;
  /** Transactions in the logs after the snapshot. */
  transactions: number;
  /** Their size in the logs. */
  bytes: number;
}

/** Names, reads and prunes the files of a data directory. */
export class DataDirectory {
  constructor(
    private readonly fs: FileSystem,
    readonly path: string,
    private readonly logger: ZooKeeperLogger,
  ) {}

  logFile(firstZxid: number): LogFile {
    return { path: join(this.path, `log.${hex(firstZxid)}`), firstZxid };
  }

  snapshotPath(zxid: number): string {
    return join(this.path, `snapshot.${hex(zxid)}`);
  }

  /**
   * Restores a model from the newest snapshot and the logs after it.
   * @throws {EmbeddedServerError} `ZK_EMBEDDED_CORRUPT`: durable data is damaged or missing
   */
  async load(createModel: () => ServerModel): Promise<Loaded> {
    await this.removeUnfinished();
    const acknowledged = await readAcknowledged(this.fs, this.path);
    const model = await this.loadSnapshot(createModel);
    const logs = await this.numbered('log');
    const first = Math.max(
      0,
      logs.findLastIndex(({ zxid }) => zxid <= model.lastZxid + 1),
    );
    const snapshotZxid = model.lastZxid;
    let position: LogPosition | undefined;
    let bytes = 0;
    for (const log of logs.slice(first)) {
      const replayed = await this.replayLog(log, model, log === logs.at(-1), acknowledged);
      position = replayed.position;
      bytes += replayed.bytes;
    }
    if (acknowledged !== undefined && model.lastZxid < acknowledged.zxid) {
      throw this.lost(acknowledged, model.lastZxid, position);
    }
    return { model, position: position ?? this.freshLog(model), transactions: model.lastZxid - snapshotZxid, bytes };
  }

  /** Position at the start of a log file that does not exist yet. */
  freshLog(model: ServerModel): LogPosition {
    return { ...this.logFile(model.lastZxid + 1), offset: undefined, fileBatch: 0 };
  }

  /** Removes everything after the durable end of the log, after a failed write. Needs no disk space. */
  async cutTo(end: LogEnd): Promise<void> {
    await this.removeUnfinished();
    for (const { path, zxid } of await this.numbered('log')) {
      const isAfter = end.offset === undefined ? zxid >= end.firstZxid : zxid > end.firstZxid;
      if (isAfter) await this.fs.remove(path);
    }
    if (end.offset !== undefined) await this.truncate(end.path, end.offset);
    await this.prune(1);
  }

  private async truncate(path: string, offset: number): Promise<void> {
    const file = await this.fs.open(path, 'existing');
    try {
      await file.truncate(offset);
      await file.sync();
    } finally {
      await file.close();
    }
  }

  /** Removes all but the newest snapshots, and the logs that only the removed ones needed. */
  async prune(keepSnapshots: number): Promise<void> {
    const snapshots = await this.numbered('snapshot');
    const kept = snapshots.slice(-keepSnapshots);
    const oldest = kept[0];
    if (oldest === undefined) return;
    for (const { path } of snapshots.slice(0, -keepSnapshots)) await this.fs.remove(path);
    const logs = await this.numbered('log');
    const firstNeeded = logs.findLastIndex(({ zxid }) => zxid <= oldest.zxid + 1);
    for (const { path } of logs.slice(0, Math.max(0, firstNeeded))) await this.fs.remove(path);
  }

  private async loadSnapshot(createModel: () => ServerModel): Promise<ServerModel> {
    const snapshots = await this.numbered('snapshot');
    let damage: { path: string; error: unknown } | undefined;
    for (const { path } of snapshots.reverse()) {
      const model = createModel();
      try {
        await readSnapshot(this.fs, path, model);
        return model;
      } catch (error) {
        if (!(error instanceof MalformedPacketError)) throw error;
        this.logger.error('Snapshot is damaged; trying an older one', { path, error });
        damage = { path, error };
      }
    }
    if (damage === undefined) return createModel();
    throw corrupt(damage.path, 'every snapshot is damaged', damage.error);
  }

  private replayLog(
    { path, zxid: firstZxid }: NumberedFile,
    model: ServerModel,
    isLast: boolean,
    acknowledged: Acknowledged | undefined,
  ): Promise<{ position: LogPosition; bytes: number }> {
    return RecordFile.use(this.fs, path, async (file) => {
      if (!(await file.beginsWith(LOG_MAGIC))) {
        // A crash during the creation of the file leaves it short, without records.
        if (isLast && (await file.findLaterBatch(-1, undefined)) === undefined) {
          return { position: { path, firstZxid, offset: undefined, fileBatch: 0 }, bytes: 0 };
        }
        throw corrupt(path, 'it is not a log file');
      }
      let bytes = 0;
      const end = await file.readRecords(LOG_MAGIC.length, ({ payload }, at) => {
        if (replayRecord(path, at, payload, model)) bytes += payload.length;
      });
      const position = { path, firstZxid, offset: end.at, fileBatch: end.mark?.batch ?? 0 };
      if (acknowledged?.logZxid === firstZxid && end.at < acknowledged.offset) {
        throw this.lost(acknowledged, model.lastZxid, position);
      }
      if (end.at < file.size) await this.checkTail(path, file, end, isLast);
      return { position, bytes };
    });
  }

  /** Only a torn last write may follow the last intact record. */
  private async checkTail(path: string, file: RecordFile, { at, mark }: RecordsEnd, isLast: boolean): Promise<void> {
    const later = await file.findLaterBatch(at, mark);
    if (!isLast || later !== undefined) {
      const proof = later === undefined ? 'a later log exists' : `intact data follows at byte ${later}`;
      throw corrupt(path, `the record at byte ${at} is damaged, but ${proof}`);
    }
    this.logger.warn('Truncated the log after a write that a crash interrupted and that was not acknowledged', {
      path,
      offset: at,
      cutBytes: file.size - at,
    });
  }

  /** The error for lost acknowledged writes. */
  private lost(acknowledged: Acknowledged, lastZxid: number, end: LogPosition | undefined): EmbeddedServerError {
    const { path } = this.logFile(acknowledged.logZxid);
    const found =
      end?.firstZxid === acknowledged.logZxid
        ? `it is damaged or cut off at byte ${end.offset ?? 0}`
        : 'it or an earlier file is missing';
    return new EmbeddedServerError(
      'ZK_EMBEDDED_CORRUPT',
      `embedded ZooKeeper: cannot use ${path}: ${found}, but clients were told that everything up to byte ` +
        `${acknowledged.offset} is safe (transaction ${acknowledged.zxid}; the last one found is ${lastZxid}). Restore the ` +
        `data directory from a backup; or, to continue without what is lost, remove ${acknowledgedPath(this.path)}`,
      { path },
    );
  }

  private async removeUnfinished(): Promise<void> {
    for (const name of await this.fs.list(this.path)) {
      if (name.startsWith('snapshot.') && name.endsWith('.tmp')) await this.fs.remove(join(this.path, name));
    }
  }

  private async numbered(kind: 'log' | 'snapshot'): Promise<NumberedFile[]> {
    const files: NumberedFile[] = [];
    for (const name of await this.fs.list(this.path)) {
      const [, found, digits] = NAME.exec(name) ?? [];
      if (found === kind && digits !== undefined) {
        files.push({ path: join(this.path, name), zxid: Number.parseInt(digits, 16) });
      }
    }
    return files.sort((a, b) => a.zxid - b.zxid);
  }
}

/** @returns false if the model already has the transaction */
function replayRecord(path: string, at: number, payload: Buffer, model: ServerModel): boolean {
  let transaction;
  try {
    transaction = decodeTransaction(new JuteReader(payload));
  } catch (error) {
    throw corrupt(path, `the record at byte ${at} is intact, but cannot be decoded`, error);
  }
  if (transaction.zxid <= model.lastZxid) return false;
  if (transaction.zxid !== model.lastZxid + 1) {
    throw corrupt(path, `transaction ${transaction.zxid} follows ${model.lastZxid}; a log file is missing`);
  }
  model.replay(transaction);
  return true;
}

function corrupt(path: string, detail: string, cause?: unknown): EmbeddedServerError {
  return new EmbeddedServerError(
    'ZK_EMBEDDED_CORRUPT',
    `embedded ZooKeeper: cannot use ${path}: ${detail}. Restore the data directory from a backup, or move it away to ` +
      'start empty',
    { path, cause },
  );
}

function hex(zxid: number): string {
  return zxid.toString(16).padStart(16, '0');
}
