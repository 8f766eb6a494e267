import type { Operation, OperationResult } from '../client/contract/types.js';

/** A change of one cached record. `before` is missing for a new one, `after` for one that is gone. */
export interface RecordChange<T> {
  readonly id: string;
  readonly before: T | undefined;
  readonly after: T | undefined;
}

/**
 * In-memory mirror of one kind of record, kept by a persistent-recursive watch (spec: zookeeper.md 14).
 * Reads are synchronous and never touch ZooKeeper.
 */
export interface RecordCache<T> {
  /** Adds the watch and reads the whole tree; resolves when complete. Rebuilt by itself after SUSPENDED and LOST. */
  start(): Promise<void>;
  stop(): void;
  /** False until started and while being rebuilt. */
  readonly ready: boolean;
  /** Resolves when ready. */
  whenReady(signal?: AbortSignal): Promise<void>;
  readonly size: number;
  get(id: string): T | undefined;
  values(): IterableIterator<T>;
  /** Events waiting to be applied (metric `event_queue`) and reads under way (`playback_queue`). */
  readonly eventQueue: number;
  readonly playbackQueue: number;
  /**
   * Resolves when everything that was written before the call, by whomever, can be seen here. Rejects with a ZooKeeperError
   * when the session is closed or the connection is away for too long.
   */
  settle(): Promise<void>;
  /** Called after the cache holds the new value. Also called for every difference found by a rebuild. */
  onChange(listener: (change: RecordChange<T>) => void): () => void;
  onReady(listener: (ready: boolean) => void): () => void;
}

/** The caches of nodes and requests also follow the lock directories of their records. */
export interface LockAware {
  /** Number of entries seen in the lock directory. */
  contenders(id: string): number;
  /** Whether the lock directory exists. */
  hasLockDirectory(id: string): boolean;
  /** Called when the number of contenders changes. */
  onLockChange(listener: (id: string, contenders: number) => void): () => void;
}

/**
 * Writes through the caches: the caches show what was written as soon as ZooKeeper confirms it, without reading it
 * back, although the watch reports our own writes like anybody's.
 */
export interface Committer {
  /**
   * Carries all of the operations out or none, in the session in which it is called: rejects with `ZK_SESSION_EXPIRED`
   * while there is none. A `MultiError` says that ZooKeeper refused; after `ZK_CONNECTION_LOSS` it is unknown.
   */
  commit(operations: readonly Operation[]): Promise<OperationResult[]>;
}

/** One commit as a cache sees it. Call `apply` and `report`, or `abandon`, exactly once. */
export interface PendingCommit {
  /** Changes the cache as the commit changed ZooKeeper. */
  apply(results: readonly OperationResult[]): void;
  /** Tells the cache's listeners. Called after every cache has applied, so that they see one state. */
  report(): void;
  /** The commit failed, or (`fateUnknown`) it is unknown whether it did: whatever may differ is read. */
  abandon(fateUnknown: boolean): void;
}

/** A cache a {@link Committer} can write through. */
export interface CommitTarget {
  /** Called before the operations are sent. `undefined` when none of them concerns the cache. */
  beginCommit(operations: readonly Operation[]): PendingCommit | undefined;
}
