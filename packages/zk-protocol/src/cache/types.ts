import type { Operation, OperationResult } from '../client/contract/types.js';
import type { JsonObject } from '../records/types.js';

/** A change of one cached record. `before` is undefined for a new record, `after` for a deleted one. */
export interface RecordChange<T> {
  readonly id: string;
  readonly before: T | undefined;
  readonly after: T | undefined;
}

/** A record whose body is malformed. */
export interface UnreadableRecord {
  readonly id: string;
  /** What is wrong with the body. */
  readonly error: Error;
  /** When the body was written, by the clock of the server. */
  readonly sinceMs: number;
  /** Its top-level fields that can be read, as stored: keys of the wire, of any type. A missing one may have been lost. */
  readonly legible: Readonly<JsonObject>;
}

/**
 * In-memory mirror of one kind of record, kept by a persistent-recursive watch (spec: zookeeper.md 14).
 * Reads are synchronous and never touch ZooKeeper.
 */
export interface RecordCache<T> {
  /** Adds the watch and reads the tree; resolves when complete. Rebuilds after SUSPENDED and LOST. */
  start(): Promise<void>;
  stop(): void;
  /** False before the first read is complete and during a rebuild. */
  readonly ready: boolean;
  /** Resolves when ready. */
  whenReady(signal?: AbortSignal): Promise<void>;
  readonly size: number;
  get(id: string): T | undefined;
  values(): IterableIterator<T>;
  /**
   * Records whose bodies are malformed. The cache keeps the last version that could be read, if it has seen one. The same array until
   * one of them changes.
   */
  readonly unreadable: readonly UnreadableRecord[];
  /** Events to be applied (metric `event_queue`). */
  readonly eventQueue: number;
  /** Reads in flight (metric `playback_queue`). */
  readonly playbackQueue: number;
  /**
   * Resolves when the cache shows every write, of any client, that was made before the call. Rejects with a ZooKeeperError
   * when the session is closed or the connection is down for too long.
   */
  settle(): Promise<void>;
  /** The listener is called after the cache holds the new value, also for differences found by a rebuild. */
  onChange(listener: (change: RecordChange<T>) => void): () => void;
  onReady(listener: (ready: boolean) => void): () => void;
}

/** A cache that also mirrors the lock directories of its records. */
export interface LockAware {
  /** Number of entries in the lock directory. */
  contenders(id: string): number;
  /** Whether the lock directory exists. */
  hasLockDirectory(id: string): boolean;
  /** The listener is called when the number of contenders changes. */
  onLockChange(listener: (id: string, contenders: number) => void): () => void;
}

/**
 * Writes through the caches: they show each write as soon as ZooKeeper confirms it, without reading it back, although the
 * watch reports own writes too.
 */
export interface Committer {
  /**
   * Executes all operations or none, in the current session; rejects with `ZK_SESSION_EXPIRED` without one. After a
   * `MultiError` no operation took effect; after `ZK_CONNECTION_LOSS` the outcome is unknown.
   */
  commit(operations: readonly Operation[]): Promise<OperationResult[]>;
}

/** A cache's view of one commit. Call `apply` and then `report`, or `abandon`, exactly once. */
export interface PendingCommit {
  /** Applies the commit to the cache. */
  apply(results: readonly OperationResult[]): void;
  /** Calls the cache's listeners. Called after all caches applied the commit, so that listeners see one state. */
  report(): void;
  /** The commit failed, or its outcome is unknown (`fateUnknown`): reads paths that may have changed. */
  abandon(fateUnknown: boolean): void;
}

/** A cache that a {@link Committer} updates. */
export interface CommitTarget {
  /** Called before the operations are sent. @returns undefined if none of them concerns the cache */
  beginCommit(operations: readonly Operation[]): PendingCommit | undefined;
}
