/** One directory whose children are records. */
export interface RecordDirectory {
  /** Path of the directory. */
  readonly path: string;
  /** What the ids of its records begin with, so that one cache can mirror several directories. */
  readonly idPrefix: string;
}

/** What a path below a record directory is. */
export type CachedPath =
  | { readonly kind: 'record'; readonly id: string; readonly path: string }
  | { readonly kind: 'lock'; readonly id: string; readonly path: string }
  | { readonly kind: 'lock-entry'; readonly id: string; readonly path: string; readonly entry: string };

/** Finds out what a path is to a cache. */
export class TreeLayout {
  constructor(
    readonly directories: readonly RecordDirectory[],
    /** Whether records have a `lock` child that is followed too. */
    readonly locks: boolean,
  ) {}

  /** `undefined` for paths that only structure the tree. */
  classify(path: string): CachedPath | undefined {
    for (const directory of this.directories) {
      const start = directory.path.length + 1;
      if (path.length <= start || path[start - 1] !== '/' || !path.startsWith(directory.path)) continue;
      return this.#classifyBelow(path, start, directory.idPrefix);
    }
    return undefined;
  }

  #classifyBelow(path: string, start: number, idPrefix: string): CachedPath | undefined {
    const idEnd = path.indexOf('/', start);
    if (idEnd < 0) {
      const name = path.slice(start);
      return name === 'lock' ? undefined : { kind: 'record', id: idPrefix + name, path };
    }
    if (!this.locks || !path.startsWith('/lock', idEnd)) return undefined;
    const id = idPrefix + path.slice(start, idEnd);
    const lockEnd = idEnd + '/lock'.length;
    if (path.length === lockEnd) return { kind: 'lock', id, path };
    if (path[lockEnd] !== '/' || path.includes('/', lockEnd + 1)) return undefined;
    return { kind: 'lock-entry', id, path, entry: path.slice(lockEnd + 1) };
  }

  /** Whether a path can concern the cache at all. Sequential create paths end with the directory's slash. */
  contains(path: string): boolean {
    return this.directories.some(({ path: root }) => path.startsWith(root) && path[root.length] === '/');
  }

  /** Path of a record. */
  recordPath(directory: RecordDirectory, id: string): string {
    return `${directory.path}/${id.slice(directory.idPrefix.length)}`;
  }

  /** The lock directory an entry is in. */
  static lockDirectoryOf(entryPath: string): string {
    return entryPath.slice(0, entryPath.lastIndexOf('/'));
  }
}
