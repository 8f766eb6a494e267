import { isNodepoolError } from '../base/errors.js';
import type { Stat, ZooKeeper } from '../client/contract/types.js';
import { Listeners } from './listeners.js';
import type { ZooKeeperLogger } from '../base/logger.js';
import type { Effect } from './own-writes.js';
import { legibleFields } from '../records/legible-fields.js';
import type { RecordChange, UnreadableRecord } from './types.js';

type Session = Pick<ZooKeeper, 'sessionEpoch'>;
type Decode<T> = (id: string, body: Buffer, stat: Stat) => T | undefined;

/** The records of a cache by id, with change listeners. */
export class RecordTable<T extends { readonly stat: Stat | undefined }> {
  readonly #decodeBody: Decode<T>;
  readonly #logger: ZooKeeperLogger;
  readonly #records = new Map<string, T>();
  /** Malformed bodies, each with its transaction id, so that it is logged once. */
  readonly #malformed = new Map<string, UnreadableRecord & { readonly mzxid: bigint }>();
  /** The values of them, until one changes. */
  #unreadable: readonly UnreadableRecord[] | undefined = [];
  /** Ids of records that earlier sessions have read. */
  readonly #former = new Set<string>();
  readonly #session: Session;
  #epoch = 0;
  readonly #listeners: Listeners<[RecordChange<T>]>;

  /** @param session - of which records are read */
  constructor(decode: Decode<T>, logger: ZooKeeperLogger, session: Session) {
    this.#decodeBody = decode;
    this.#session = session;
    this.#logger = logger;
    this.#listeners = new Listeners(logger);
  }

  get size(): number {
    return this.#records.size;
  }

  get(id: string): T | undefined {
    return this.#records.get(id);
  }

  values(): IterableIterator<T> {
    return this.#records.values();
  }

  /** Ids of all records, unreadable ones included. */
  ids(): Iterable<string> {
    return [...this.#records.keys(), ...this.#malformed.keys()];
  }

  /** Records whose bodies are malformed. The same array until one of them changes. */
  get unreadable(): readonly UnreadableRecord[] {
    return (this.#unreadable ??= [...this.#malformed.values()]);
  }

  onChange(listener: (change: RecordChange<T>) => void): () => void {
    return this.#listeners.add(listener);
  }

  /** In a new session the database may be an older copy: records of earlier sessions are no newer than those that are read now. */
  #checkSession(): void {
    const { sessionEpoch: epoch } = this.#session;
    if (epoch !== this.#epoch) for (const id of this.#records.keys()) this.#former.add(id);
    this.#epoch = epoch;
  }

  /** Stores a record that was read, unless a newer one is known, and reports the change. */
  store(id: string, body: Buffer, stat: Stat): void {
    this.#checkSession();
    const before = this.#records.get(id);
    const isFormer = this.#former.delete(id);
    if (before?.stat && isFormer && isSame(stat, before.stat)) this.#clearMalformed(id);
    if (before?.stat && (isFormer ? isSame(stat, before.stat) : stat.mzxid <= before.stat.mzxid)) return;
    const after = this.#decode(id, body, stat, before);
    if (after === before) return;
    this.#put(id, after);
    this.report(id, before);
  }

  /** Decodes a body without storing it. */
  read(id: string, body: Buffer, stat: Stat): T | undefined {
    return this.#decode(id, body, stat, undefined);
  }

  /** Removes a record and reports the change. */
  remove(id: string): void {
    const before = this.#records.get(id);
    this.#clearMalformed(id);
    this.#former.delete(id);
    this.#records.delete(id);
    if (before !== undefined) this.report(id, before);
  }

  /** Applies the effect of an own write without reporting it; see {@link report}. */
  applyEffect(id: string, effect: Effect): void {
    this.#checkSession();
    const before = this.#records.get(id);
    if (effect.result === undefined) {
      this.#records.delete(id);
      this.#clearMalformed(id);
      return;
    }
    const { stat } = effect.result;
    // Not "<=": all operations of a multi have the same transaction id.
    if (!this.#former.delete(id) && before?.stat !== undefined && stat.mzxid < before.stat.mzxid) return;
    const { data = '' } = effect;
    this.#put(id, this.#decode(id, typeof data === 'string' ? Buffer.from(data, 'utf8') : data, stat, before));
  }

  /** Calls the listeners if the record differs from `before`. */
  report(id: string, before: T | undefined): void {
    const after = this.#records.get(id);
    if (before === after) return;
    if (!before || !after || isSameZnode(before.stat, after.stat)) return this.#listeners.call({ id, before, after });
    // numbers repeat after an older copy of the database has come back: it is another record
    this.#records.delete(id);
    this.#listeners.call({ id, before, after: undefined });
    this.#records.set(id, after);
    this.#listeners.call({ id, before: undefined, after });
  }

  #put(id: string, record: T | undefined): void {
    if (record === undefined) this.#records.delete(id);
    else this.#records.set(id, record);
  }

  #clearMalformed(id: string): void {
    if (this.#malformed.delete(id)) this.#unreadable = undefined;
  }

  /** Keeps the cached record if the body is malformed, unless it is of another znode or of a later copy of the database. */
  #decode(id: string, body: Buffer, stat: Stat, before: T | undefined): T | undefined {
    try {
      const record = this.#decodeBody(id, body, stat);
      this.#clearMalformed(id);
      return record;
    } catch (error) {
      if (!isNodepoolError(error, 'NODEPOOL_RECORD')) throw error;
      if (this.#malformed.get(id)?.mzxid !== stat.mzxid) {
        const { mtime: sinceMs, mzxid } = stat;
        this.#malformed.set(id, { id, error, sinceMs, legible: legibleFields(body), mzxid });
        this.#unreadable = undefined;
        this.#logger.error('Ignored a malformed record', { id, error });
      }
      return before?.stat && isEarlier(before.stat, stat) ? before : undefined;
    }
  }
}

/** Records that were not read from ZooKeeper are of any znode. Times do not count: that of an own creation may be of this machine. */
function isSameZnode(one: Stat | undefined, other: Stat | undefined): boolean {
  return !one || !other || one.czxid === other.czxid;
}

/** Whether one is of an earlier state of the same znode. */
function isEarlier(one: Stat, other: Stat): boolean {
  return one.czxid === other.czxid && one.mzxid <= other.mzxid;
}

/** Whether both are of one write; numbers of transactions repeat after an older copy of the database came back. */
function isSame(one: Stat, other: Stat): boolean {
  const keys = ['mzxid', 'czxid', 'mtime', 'version'] as const;
  return keys.every((key) => one[key] === other[key]);
}
