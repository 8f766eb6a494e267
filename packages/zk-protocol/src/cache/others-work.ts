import type { ReadResult, Stat } from '../client/contract/types.js';
import type { LockMirror } from './lock-mirror.js';
import type { PathReader, PathToRead } from './path-reader.js';
import type { CachedPath, TreeLayout } from './tree-layout.js';

/** Which changes concern others first, so that they are read late, once for all that come until then. */
export interface OthersWorkRules<T> {
  /** How late. */
  readonly lateMs: number;
  /** Changes of the record concern others: more may follow, and nothing here depends on them at once. */
  readonly isOthers?: ((record: T) => boolean) | undefined;
  /** Changes of records that another process has locked: more follow until it gives up the lock. */
  readonly whileLocked?: boolean | undefined;
  /**
   * What others do with the record while they have its lock, and giving it up, concerns them: the lock counts as held until
   * the record is read late.
   */
  readonly isOthersWhileLocked?: ((record: T) => boolean) | undefined;
  /** A record that has just come concerns others, whatever it says: it is not read before it is late. */
  readonly isOthersUnread?: ((id: string) => boolean) | undefined;
}

/** What a cache follows records with. */
export interface OthersWorkParts<T> {
  readonly layout: TreeLayout;
  readonly records: {
    get(id: string): T | undefined;
    read(id: string, body: Buffer, stat: Stat): T | undefined;
  };
  readonly locks: Pick<LockMirror, 'contenders'>;
  readonly reader: PathReader;
}

/** Tells which changes of records are others' work, to be read late. */
export class OthersWork<T> {
  readonly #rules: OthersWorkRules<T>;
  readonly #parts: OthersWorkParts<T>;
  /** Lock entries of others by record. */
  readonly #entries = new Map<string, Set<string>>();

  constructor(rules: OthersWorkRules<T>, parts: OthersWorkParts<T>) {
    this.#rules = rules;
    this.#parts = parts;
  }

  /**
   * The record has come or changed: it is to be read, at once or late.
   * @param isNew - it has just come
   */
  recordChanged(read: PathToRead, isNew: boolean): void {
    const { reader } = this.#parts;
    if (isNew && this.#leaves(read.id)) reader.markForLater(read, true);
    else if (this.#includes(read)) reader.markForLater(read);
    else reader.mark(read);
  }

  #leaves(id: string): boolean {
    return this.#parts.records.get(id) === undefined && this.#rules.isOthersUnread?.(id) === true;
  }

  #includes({ id, path }: PathToRead): boolean {
    const { isOthers, whileLocked } = this.#rules;
    const record = this.#parts.records.get(id);
    if (record === undefined ? this.#parts.reader.isLeft(path) : isOthers?.(record) === true) return true;
    return this.#isLockedByOthers(id) && (whileLocked === true || this.#isOthersWhileLocked(record));
  }

  /** A new record, and although it has changed meanwhile, it is enough to know that it concerns others. */
  isEnough({ id }: PathToRead, result: ReadResult): boolean {
    const { isOthers } = this.#rules;
    const { records } = this.#parts;
    if (!isOthers || result.read !== 'data' || records.get(id) !== undefined) return false;
    const record = records.read(id, result.data, result.stat);
    return record !== undefined && isOthers(record);
  }

  /** A lock entry that this process has not written has come or gone. Whoever gives up a lock has done all he wanted. */
  lockChanged(path: CachedPath, exists: boolean): void {
    const { whileLocked, isOthersWhileLocked } = this.#rules;
    if (path.kind !== 'lock-entry' || (!whileLocked && !isOthersWhileLocked)) return;
    this.#count(path.id, path.entry, exists);
    if (!whileLocked) return;
    const { layout, reader } = this.#parts;
    const directory = layout.directoryOf(path.id);
    if (!directory) return;
    const recordPath = layout.recordPath(directory, path.id);
    if (this.#isLockedByOthers(path.id)) reader.postpone(recordPath);
    else if (!reader.isLeft(recordPath)) reader.hurry(recordPath);
  }

  /** Changes of the record's lock are not shown before the record is read, be it late. */
  isAwaited(id: string): boolean {
    const { layout, reader, records } = this.#parts;
    const directory = layout.directoryOf(id);
    if (directory === undefined) return false;
    const path = layout.recordPath(directory, id);
    return reader.isPending(path) || (reader.isLate(path) && this.#isOthersWhileLocked(records.get(id)));
  }

  #isOthersWhileLocked(record: T | undefined): boolean {
    return record !== undefined && this.#rules.isOthersWhileLocked?.(record) === true;
  }

  /** The connection was away: nobody told what came and went. */
  forget(): void {
    this.#entries.clear();
  }

  /** Another process has the lock, and this one neither has it nor stands in line. */
  #isLockedByOthers(id: string): boolean {
    const others = this.#entries.get(id)?.size ?? 0;
    return others > 0 && this.#parts.locks.contenders(id) <= others;
  }

  #count(id: string, entry: string, exists: boolean): void {
    const entries = this.#entries.get(id);
    if (exists) {
      if (entries) entries.add(entry);
      else this.#entries.set(id, new Set([entry]));
      return;
    }
    entries?.delete(entry);
    if (entries?.size === 0) this.#entries.delete(id);
  }
}
