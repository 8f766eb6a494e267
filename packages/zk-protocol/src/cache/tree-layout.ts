/** One directory whose children are records. */
export interface RecordDirectory {
  /** Path of the directory. */
  readonly path: string;
  /** Prefix of its record ids, so that one cache can mirror several directories. */
  readonly idPrefix: string;
  /** Parent of the lock directories, which are named by id. Without it, each is the child `lock` of its record. */
  readonly lockRoot?: string;
}

/** A path that concerns the cache. */
export type CachedPath =
  | { readonly kind: 'record'; readonly id: string; readonly path: string }
  | { readonly kind: 'lock'; readonly id: string; readonly path: string }
  | { readonly kind: 'lock-entry'; readonly id: string; readonly path: string; readonly entry: string };

/** Maps paths to records and locks of a cache, and back. */
export class TreeLayout {
  constructor(
    readonly directories: readonly RecordDirectory[],
    /** Whether the cache mirrors lock directories. */
    readonly locks: boolean,
  ) {}

  /** @returns undefined for paths that are neither a record nor part of a lock */
  classify(path: string): CachedPath | undefined {
    for (const directory of this.directories) {
      const { path: root, idPrefix, lockRoot } = directory;
      if (isBelow(path, root)) return this.#classifyBelow(path, root.length + 1, directory);
      if (this.locks && lockRoot !== undefined && isBelow(path, lockRoot)) {
        return classifyLock(path, lockRoot.length + 1, idPrefix);
      }
    }
    return undefined;
  }

  #classifyBelow(path: string, start: number, { idPrefix, lockRoot }: RecordDirectory): CachedPath | undefined {
    const idEnd = path.indexOf('/', start);
    if (idEnd < 0) {
      const name = path.slice(start);
      return name === 'lock' ? undefined : { kind: 'record', id: idPrefix + name, path };
    }
    if (!this.locks || lockRoot !== undefined || !path.startsWith('/lock', idEnd)) return undefined;
    const id = idPrefix + path.slice(start, idEnd);
    const lockEnd = idEnd + '/lock'.length;
    if (path.length === lockEnd) return { kind: 'lock', id, path };
    if (path[lockEnd] !== '/' || path.includes('/', lockEnd + 1)) return undefined;
    return { kind: 'lock-entry', id, path, entry: path.slice(lockEnd + 1) };
  }

  /** Whether a path is below the cache's directories. Accepts sequential create paths, which end with a slash. */
  contains(path: string): boolean {
    return this.directories.some(
      ({ path: root, lockRoot }) =>
        isUnder(path, root) || (this.locks && lockRoot !== undefined && isUnder(path, lockRoot)),
    );
  }

  /** Path of a record. */
  recordPath(directory: RecordDirectory, id: string): string {
    return `${directory.path}/${id.slice(directory.idPrefix.length)}`;
  }

  /** Path of the lock directory of a record. */
  lockPath(directory: RecordDirectory, id: string): string {
    const name = id.slice(directory.idPrefix.length);
    return directory.lockRoot === undefined ? `${directory.path}/${name}/lock` : `${directory.lockRoot}/${name}`;
  }

  /** Directory of a record: the first whose prefix matches its id. */
  directoryOf(id: string): RecordDirectory | undefined {
    return this.directories.find(({ idPrefix }) => id.startsWith(idPrefix));
  }

  /** The lock directory of an entry. */
  static lockDirectoryOf(entryPath: string): string {
    return entryPath.slice(0, entryPath.lastIndexOf('/'));
  }
}

function isUnder(path: string, root: string): boolean {
  return path.startsWith(root) && path[root.length] === '/';
}

/** Whether the path names a descendant; `<root>/` does not. */
function isBelow(path: string, root: string): boolean {
  return path.length > root.length + 1 && isUnder(path, root);
}

function classifyLock(path: string, start: number, idPrefix: string): CachedPath | undefined {
  const idEnd = path.indexOf('/', start);
  if (idEnd < 0) return { kind: 'lock', id: idPrefix + path.slice(start), path };
  if (path.includes('/', idEnd + 1)) return undefined;
  return { kind: 'lock-entry', id: idPrefix + path.slice(start, idEnd), path, entry: path.slice(idEnd + 1) };
}
