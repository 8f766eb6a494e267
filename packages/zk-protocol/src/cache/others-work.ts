import type { LockMirror } from './lock-mirror.js';
import type { PathReader } from './path-reader.js';
import type { CachedPath, TreeLayout } from './tree-layout.js';

/** What a cache follows records with. */
export interface OthersWorkParts {
  readonly layout: TreeLayout;
  readonly locks: Pick<LockMirror, 'contenders'>;
  readonly reader: Pick<PathReader, 'hurry' | 'postpone'>;
}

/** Records that another process has locked: it is at work on them, and more changes follow until it gives up the lock. */
export class OthersWork {
  readonly #parts: OthersWorkParts;
  /** Lock entries of others by record. */
  readonly #entries = new Map<string, Set<string>>();

  constructor(parts: OthersWorkParts) {
    this.#parts = parts;
  }

  /** Whether a record is locked by another process, and not by this one. */
  includes(id: string): boolean {
    const others = this.#entries.get(id)?.size ?? 0;
    return others > 0 && this.#parts.locks.contenders(id) <= others;
  }

  /** A lock entry that this process has not written has come or gone. Whoever gives up a lock has done all he wanted. */
  lockChanged(path: CachedPath, exists: boolean): void {
    if (path.kind !== 'lock-entry') return;
    this.#count(path.id, path.entry, exists);
    const { layout, reader } = this.#parts;
    const directory = layout.directoryOf(path.id);
    if (!directory) return;
    const recordPath = layout.recordPath(directory, path.id);
    if (this.includes(path.id)) reader.postpone(recordPath);
    else reader.hurry(recordPath);
  }

  /** The connection was away: nobody told what came and went. */
  forget(): void {
    this.#entries.clear();
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
