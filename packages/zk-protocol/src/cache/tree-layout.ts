/** One directory whose children are records. */
export interface RecordDirectory {
  /** Path of the directory. */
  readonly path: string;
  /** What the ids of its records begin with, so that one cache can mirror several directories. */
  readonly idPrefix: string;
  /** Where the lock directories of its records stand, named by id. Missing: each is the child `lock` of its record. */
  readonly lockRoot?: string;
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
    /** Whether the lock directories of records are followed too. */
    readonly locks: boolean,
  ) {}

  /** `undefined` for paths that only structure the tree. */
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

  /** Whether a path can concern the cache at all. Sequential create paths end with the directory's slash. */
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

  /** The directory that the record with this id is in; the first one that its id fits. */
  directoryOf(id: string): RecordDirectory | undefined {
    return this.directories.find(({ idPrefix }) => id.startsWith(idPrefix));
  }

  /** The lock directory an entry is in. */
  static lockDirectoryOf(entryPath: string): string {
    return entryPath.slice(0, entryPath.lastIndexOf('/'));
  }
}

function isUnder(path: string, root: string): boolean {
  return path.startsWith(root) && path[root.length] === '/';
}

/** Not the path that ends with the root's slash. */
function isBelow(path: string, root: string): boolean {
  return path.length > root.length + 1 && isUnder(path, root);
}

function classifyLock(path: string, start: number, idPrefix: string): CachedPath | undefined {
  const idEnd = path.indexOf('/', start);
  if (idEnd < 0) return { kind: 'lock', id: idPrefix + path.slice(start), path };
  if (path.includes('/', idEnd + 1)) return undefined;
  return { kind: 'lock-entry', id: idPrefix + path.slice(start, idEnd), path, entry: path.slice(idEnd + 1) };
}
