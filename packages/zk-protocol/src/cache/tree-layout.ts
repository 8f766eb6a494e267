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

/** The starts of all paths that concern a directory. */
interface Prefixes {
  readonly directory: RecordDirectory;
  readonly records: string;
  /** Lock directories in a place of their own. */
  readonly locks: string | undefined;
}

/** Maps paths to records and locks of a cache, and back. */
export class TreeLayout {
  readonly #prefixes: readonly Prefixes[];

  constructor(
    readonly directories: readonly RecordDirectory[],
    /** Whether the cache mirrors lock directories. */
    readonly locks: boolean,
  ) {
    this.#prefixes = directories.map((directory) => ({
      directory,
      records: `${directory.path}/`,
      locks: locks && directory.lockRoot !== undefined ? `${directory.lockRoot}/` : undefined,
    }));
  }

  /** @returns undefined for paths that are neither a record nor part of a lock */
  classify(path: string): CachedPath | undefined {
    for (const { directory, records, locks } of this.#prefixes) {
      if (path.length > records.length && path.startsWith(records)) {
        return this.#classifyBelow(path, records.length, directory);
      }
      if (locks !== undefined && path.length > locks.length && path.startsWith(locks)) {
        return classifyLock(path, locks.length, directory.idPrefix);
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
    for (const { records, locks } of this.#prefixes) {
      if (path.startsWith(records) || (locks !== undefined && path.startsWith(locks))) return true;
    }
    return false;
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

function classifyLock(path: string, start: number, idPrefix: string): CachedPath | undefined {
  const idEnd = path.indexOf('/', start);
  if (idEnd < 0) return { kind: 'lock', id: idPrefix + path.slice(start), path };
  if (path.includes('/', idEnd + 1)) return undefined;
  return { kind: 'lock-entry', id: idPrefix + path.slice(start, idEnd), path, entry: path.slice(idEnd + 1) };
}
