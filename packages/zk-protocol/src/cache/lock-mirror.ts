import { Listeners } from './listeners.js';
import { LockStates } from './lock-states.js';
import type { ZooKeeperLogger } from '../base/logger.js';
import type { CachedPath } from './tree-layout.js';

/** A change of a lock, kept back until the record it belongs to has been read. */
type LockChange = { readonly path: CachedPath; readonly exists: boolean };

/** The locks of a cache's records. Changes of a lock are shown after the changes of its record that came before them. */
export class LockMirror {
  readonly #states = new LockStates();
  readonly #queues = new Map<string, LockChange[]>();
  readonly #listeners: Listeners<[string, number]>;

  constructor(logger: ZooKeeperLogger) {
    this.#listeners = new Listeners(logger);
  }

  /** Records whose lock changes wait. */
  get waiting(): number {
    return this.#queues.size;
  }

  contenders(id: string): number {
    return this.#states.contenders(id);
  }

  hasDirectory(id: string): boolean {
    return this.#states.hasDirectory(id);
  }

  ids(): Iterable<string> {
    return this.#states.ids();
  }

  onChange(listener: (id: string, contenders: number) => void): () => void {
    return this.#listeners.add(listener);
  }

  /** ZooKeeper told of a change. It waits while the record is being read, and behind what waits already. */
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

  /** Applies a change at once. Reports nothing. */
  apply(path: CachedPath, exists: boolean): void {
    if (path.kind === 'lock') {
      if (exists) this.#states.addDirectory(path.id);
      else this.#states.removeDirectory(path.id);
    } else if (path.kind === 'lock-entry') {
      if (exists) this.#states.addEntry(path.id, path.entry);
      else this.#states.removeEntry(path.id, path.entry);
    }
  }

  /** Applies what waited for the record, without reporting it. @returns false when nothing did */
  flush(id: string): boolean {
    const queue = this.#queues.get(id);
    if (queue === undefined) return false;
    this.#queues.delete(id);
    for (const { path, exists } of queue) this.apply(path, exists);
    return true;
  }

  /** Applies and reports what waited for the record. */
  release(id: string): void {
    const before = this.contenders(id);
    if (this.flush(id)) this.report(id, before);
  }

  /** Takes over what was read; `undefined`: there is no lock directory. */
  replace(id: string, entries: readonly string[] | undefined): void {
    const before = this.contenders(id);
    this.#queues.delete(id);
    if (entries === undefined) this.#states.removeDirectory(id);
    else this.#states.replace(id, entries);
    this.report(id, before);
  }

  /** Forgets what waits: everything is read anew. */
  forgetWaiting(): void {
    this.#queues.clear();
  }

  /** Tells listeners, if the number of contenders is another one than `before`. */
  report(id: string, before: number): void {
    const now = this.contenders(id);
    if (now !== before) this.#listeners.call(id, now);
  }
}
