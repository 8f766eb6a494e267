import { Listeners } from './listeners.js';
import type { ZooKeeperLogger } from '../base/logger.js';
import type { CachedPath } from './tree-layout.js';

/** A change of a lock, queued until its record has been read. */
type LockChange = { readonly path: CachedPath; readonly exists: boolean };

/** Shared by all lock directories without contenders, which are nearly all of them. */
const NO_ENTRIES: readonly string[] = Object.freeze([]);

/** The locks of a cache's records. A lock change becomes visible after all earlier changes of its record. */
export class LockMirror {
  /** Entry names of each lock directory, by record id. */
  readonly #entries = new Map<string, readonly string[]>();
  readonly #queues = new Map<string, LockChange[]>();
  readonly #listeners: Listeners<[string, number]>;

  constructor(logger: ZooKeeperLogger) {
    this.#listeners = new Listeners(logger);
  }

  /** Number of records with queued lock changes. */
  get queued(): number {
    return this.#queues.size;
  }

  contenders(id: string): number {
    return this.#entries.get(id)?.length ?? 0;
  }

  hasDirectory(id: string): boolean {
    return this.#entries.has(id);
  }

  ids(): Iterable<string> {
    return this.#entries.keys();
  }

  onChange(listener: (id: string, contenders: number) => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Handles a lock event. Queues it while the record is being read or earlier changes are queued. */
  changed(path: CachedPath, exists: boolean, isRecordBeingRead: boolean): void {
    const queue = this.#queues.get(path.id);
    if (queue !== undefined) {
      queue.push({ path, exists });
    } else if (isRecordBeingRead) {
      this.#queues.set(path.id, [{ path, exists }]);
    } else {
      const before = this.contenders(path.id);
      this.apply(path, exists);
      this.report(path.id, before);
    }
  }

  /** Applies a change without reporting it. */
  apply(path: CachedPath, exists: boolean): void {
    const { id } = path;
    const before = this.#entries.get(id);
    if (path.kind === 'lock') {
      if (!exists) this.#entries.delete(id);
      else if (before === undefined) this.#entries.set(id, NO_ENTRIES);
    } else if (path.kind === 'lock-entry' && exists !== (before?.includes(path.entry) ?? false)) {
      const others = before?.filter((entry) => entry !== path.entry) ?? NO_ENTRIES;
      this.#set(id, exists ? [...others, path.entry] : others);
    }
  }

  /** Applies the queued changes of a record without reporting them. @returns false if there were none */
  flush(id: string): boolean {
    const queue = this.#queues.get(id);
    if (queue === undefined) return false;
    this.#queues.delete(id);
    for (const { path, exists } of queue) this.apply(path, exists);
    return true;
  }

  /** Applies and reports the queued changes of a record. */
  release(id: string): void {
    const before = this.contenders(id);
    if (this.flush(id)) this.report(id, before);
  }

  /** Stores the entries that were read and reports the difference. `undefined`: there is no lock directory. */
  replace(id: string, entries: readonly string[] | undefined): void {
    const before = this.contenders(id);
    this.#queues.delete(id);
    if (entries === undefined) this.#entries.delete(id);
    else this.#set(id, entries);
    this.report(id, before);
  }

  /** Drops all queued changes, before everything is read again. */
  dropQueued(): void {
    this.#queues.clear();
  }

  /** Calls the listeners if the number of contenders differs from `before`. */
  report(id: string, before: number): void {
    const now = this.contenders(id);
    if (now !== before) this.#listeners.call(id, now);
  }

  #set(id: string, entries: readonly string[]): void {
    this.#entries.set(id, entries.length === 0 ? NO_ENTRIES : entries);
  }
}
