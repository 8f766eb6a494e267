import type { Clock } from '../clock.js';
import { isZooKeeperError } from '../client/errors.js';
import type { ConnectionState, OperationResult, Operation, ReadResult, Stat, WatchEvent } from '../client/types.js';
import type { ZooKeeper } from '../client/types.js';
import { isNodepoolError } from '../errors.js';
import { Listeners } from './listeners.js';
import { LockStates } from './lock-states.js';
import type { CacheLogger } from './logger.js';
import { OwnWrites } from './own-writes.js';
import type { Effect } from './own-writes.js';
import { PathReader } from './path-reader.js';
import type { PathToRead } from './path-reader.js';
import { TreeLayout } from './tree-layout.js';
import type { CachedPath, RecordDirectory } from './tree-layout.js';
import type { CommitTarget, LockAware, PendingCommit, RecordCache, RecordChange } from './types.js';

const BACKLOG_LIMIT = 1024;
const BACKLOG_WARNING_MS = 60_000;
/** Pause after listing a directory failed for another reason than a broken connection. */
const RETRY_MS = 1000;

/** What a cache needs to know about its records. */
export interface TreeCacheOptions<T> {
  readonly zk: ZooKeeper;
  readonly clock: Clock;
  readonly logger: CacheLogger;
  /** For log lines, e.g. `node`. */
  readonly what: string;
  /** Paths that get a persistent-recursive watch. Each directory is one of them or below one. */
  readonly watchRoots: readonly string[];
  readonly directories: readonly RecordDirectory[];
  /** Whether to follow `<id>/lock` and its children. */
  readonly locks: boolean;
  /** `undefined`: not a record. Throws a RecordError for a body that cannot be read. */
  decode(id: string, body: Buffer, stat: Stat): T | undefined;
}

/** A change of a lock, kept back until the record it belongs to has been read. */
type LockChange = { readonly path: CachedPath; readonly exists: boolean };

/**
 * Mirror of the records below some directories.
 *
 * Order of what listeners see: changes of one record come in ZooKeeper's order, though several in a row may appear as
 * one; a lock change is shown after all record changes that ZooKeeper reported before it. Between records there is no
 * order except that what one read or one commit brings is shown together.
 */
export class TreeCache<T extends { readonly stat: Stat | undefined }>
  implements RecordCache<T>, LockAware, CommitTarget
{
  readonly #options: TreeCacheOptions<T>;
  readonly #layout: TreeLayout;
  readonly #records = new Map<string, T>();
  readonly #locks = new LockStates();
  /** Version of bodies that could not be read, so that each is logged once. */
  readonly #malformed = new Map<string, bigint>();
  readonly #lockQueues = new Map<string, LockChange[]>();
  readonly #reader: PathReader;
  readonly #own: OwnWrites;
  readonly #changeListeners: Listeners<[RecordChange<T>]>;
  readonly #lockListeners: Listeners<[string, number]>;
  readonly #readyListeners: Listeners<[boolean]>;
  /** Paths and directories the rebuild under way still waits for; `undefined` when none is. */
  #rebuild: { waitingFor: Set<string> } | undefined;
  #ready = false;
  #running = false;
  #unsubscribe: (() => void) | undefined;
  #lastBacklogWarningMs = -Infinity;

  constructor(options: TreeCacheOptions<T>) {
    const { zk, clock, logger } = options;
    this.#options = options;
    this.#layout = new TreeLayout(options.directories, options.locks);
    this.#changeListeners = new Listeners(logger);
    this.#lockListeners = new Listeners(logger);
    this.#readyListeners = new Listeners(logger);
    this.#reader = new PathReader(zk, clock, logger, this.#onRead, this.#onBatch);
    this.#own = new OwnWrites(
      (path) => this.#running && this.#layout.contains(path),
      (path) => this.#readAgain(path),
    );
  }

  // ---- life cycle

  async start(): Promise<void> {
    if (this.#running) return this.whenReady();
    this.#running = true;
    for (const root of this.#options.watchRoots) await this.#watch(root);
    if (!this.#isRunning()) return;
    this.#unsubscribe = this.#options.zk.onState(this.#onState);
    if (this.#options.zk.state === 'CONNECTED') this.#startRebuild();
    await this.whenReady();
  }

  stop(): void {
    if (!this.#running) return;
    this.#running = false;
    this.#unsubscribe?.();
    this.#rebuild = undefined;
    this.#reader.stop();
    this.#setReady(false);
    for (const root of this.#options.watchRoots) {
      this.#options.zk.removeWatch(root, this.#onEvent).catch((error: unknown) => {
        this.#options.logger.debug('cannot remove a watch, it ends with the session', { path: root, error });
      });
    }
  }

  get ready(): boolean {
    return this.#ready;
  }

  whenReady(signal?: AbortSignal): Promise<void> {
    if (this.#ready) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void) => {
        unsubscribe();
        signal?.removeEventListener('abort', onAbort);
        settle();
      };
      const onAbort = () => finish(() => reject(signal?.reason as Error));
      const unsubscribe = this.onReady((ready) => {
        if (ready) finish(resolve);
      });
      signal?.addEventListener('abort', onAbort, { once: true });
      if (signal?.aborted) onAbort();
    });
  }

  // ---- reading

  get size(): number {
    return this.#records.size;
  }

  get(id: string): T | undefined {
    return this.#records.get(id);
  }

  values(): IterableIterator<T> {
    return this.#records.values();
  }

  contenders(id: string): number {
    return this.#locks.contenders(id);
  }

  hasLockDirectory(id: string): boolean {
    return this.#locks.hasDirectory(id);
  }

  get eventQueue(): number {
    return this.#reader.waiting + this.#lockQueues.size + this.#own.deferred;
  }

  get playbackQueue(): number {
    return this.#reader.reading;
  }

  onChange(listener: (change: RecordChange<T>) => void): () => void {
    return this.#changeListeners.add(listener);
  }

  onLockChange(listener: (id: string, contenders: number) => void): () => void {
    return this.#lockListeners.add(listener);
  }

  onReady(listener: (ready: boolean) => void): () => void {
    return this.#readyListeners.add(listener);
  }

  // ---- events

  readonly #onEvent = (event: WatchEvent): void => {
    if (!this.#running || event.type === 'children' || this.#own.count(event.path)) return;
    const path = this.#layout.classify(event.path);
    if (path === undefined) return;
    if (path.kind !== 'record') {
      this.#onLockEvent(path, event.type !== 'deleted');
    } else if (event.type === 'deleted') {
      this.#settled(path.path);
      this.#remove(path.id);
    } else {
      this.#reader.mark({ read: 'data', path: path.path, id: path.id });
      this.#warnOfBacklog();
    }
  };

  #onLockEvent(path: CachedPath, exists: boolean): void {
    this.#reader.distrust({ read: 'children', path: lockDirectoryOf(path), id: path.id });
    const queue = this.#lockQueues.get(path.id);
    if (queue !== undefined) queue.push({ path, exists });
    else if (this.#reader.isPending(recordPathOf(path))) this.#lockQueues.set(path.id, [{ path, exists }]);
    else this.#applyLock(path, exists);
  }

  #applyLock(path: CachedPath, exists: boolean): void {
    const before = this.#locks.contenders(path.id);
    this.#changeLock(path, exists);
    this.#emitLock(path.id, before);
  }

  #changeLock(path: CachedPath, exists: boolean): void {
    if (path.kind === 'lock') {
      if (exists) this.#locks.addDirectory(path.id);
      else this.#locks.removeDirectory(path.id);
    } else if (path.kind === 'lock-entry') {
      if (exists) this.#locks.addEntry(path.id, path.entry);
      else this.#locks.removeEntry(path.id, path.entry);
    }
  }

  /** Applies and reports the lock changes that waited for the record to be read. */
  #releaseLockQueue(id: string): void {
    const before = this.#locks.contenders(id);
    if (this.#applyLockQueue(id)) this.#emitLock(id, before);
  }

  #applyLockQueue(id: string): boolean {
    const queue = this.#lockQueues.get(id);
    if (queue === undefined) return false;
    this.#lockQueues.delete(id);
    for (const { path, exists } of queue) this.#changeLock(path, exists);
    return true;
  }

  #readAgain(path: string): void {
    const cached = this.#layout.classify(path);
    if (cached === undefined) return;
    if (cached.kind === 'record') this.#reader.mark({ read: 'data', path, id: cached.id });
    else this.#reader.mark({ read: 'children', path: lockDirectoryOf(cached), id: cached.id });
  }

  #warnOfBacklog(): void {
    if (this.#reader.waiting <= BACKLOG_LIMIT || !this.#ready) return;
    const nowMs = this.#options.clock.now();
    if (nowMs - this.#lastBacklogWarningMs < BACKLOG_WARNING_MS) return;
    this.#lastBacklogWarningMs = nowMs;
    const { logger, what } = this.#options;
    logger.warn('many changes wait to be read, decisions may lag behind', { what, waiting: this.#reader.waiting });
  }

  // ---- answers

  readonly #onRead = (read: PathToRead, result: ReadResult): void => {
    if (result.read === 'data') this.#store(read.id, result.data, result.stat);
    else if (result.read === 'children') this.#replaceLock(read.id, result.children);
    else if (!isZooKeeperError(result.error, 'ZK_NO_NODE')) this.#onUnreadable(read, result.error);
    else if (read.read === 'data') this.#remove(read.id);
    else this.#replaceLock(read.id, undefined);
    if (read.read === 'data') this.#releaseLockQueue(read.id);
    this.#rebuild?.waitingFor.delete(read.path);
  };

  readonly #onBatch = (): void => this.#finishRebuild();

  #onUnreadable(read: PathToRead, error: Error): void {
    this.#options.logger.error('ZooKeeper does not let us read a record, it is left alone', { path: read.path, error });
  }

  #store(id: string, body: Buffer, stat: Stat): void {
    const before = this.#records.get(id);
    if (before?.stat !== undefined && stat.mzxid <= before.stat.mzxid) return;
    const after = this.#decode(id, body, stat, before);
    if (after === before) return;
    if (after === undefined) this.#records.delete(id);
    else this.#records.set(id, after);
    this.#emit(id, before, after);
  }

  /** A body that cannot be read changes nothing: neither what is cached nor what is stored. */
  #decode(id: string, body: Buffer, stat: Stat, before: T | undefined): T | undefined {
    try {
      const record = this.#options.decode(id, body, stat);
      this.#malformed.delete(id);
      return record;
    } catch (error) {
      if (!isNodepoolError(error, 'NODEPOOL_RECORD')) throw error;
      if (this.#malformed.get(id) !== stat.mzxid) {
        this.#malformed.set(id, stat.mzxid);
        this.#options.logger.error('a stored record cannot be read, it is left alone', { id, error });
      }
      return before;
    }
  }

  #remove(id: string): void {
    const before = this.#records.get(id);
    this.#malformed.delete(id);
    this.#records.delete(id);
    if (before !== undefined) this.#emit(id, before, undefined);
    this.#releaseLockQueue(id);
  }

  #replaceLock(id: string, entries: readonly string[] | undefined): void {
    const before = this.#locks.contenders(id);
    this.#lockQueues.delete(id);
    if (entries === undefined) this.#locks.removeDirectory(id);
    else this.#locks.replace(id, entries);
    this.#emitLock(id, before);
  }

  #emit(id: string, before: T | undefined, after: T | undefined): void {
    this.#changeListeners.call({ id, before, after });
  }

  #emitLock(id: string, before: number): void {
    const now = this.#locks.contenders(id);
    if (now !== before) this.#lockListeners.call(id, now);
  }

  // ---- rebuilding

  readonly #onState = (state: ConnectionState): void => {
    if (state === 'CONNECTED') {
      this.#startRebuild();
      return;
    }
    this.#rebuild = undefined;
    this.#setReady(false);
    if (state !== 'CLOSED') return;
    this.#running = false;
    this.#reader.stop();
  };

  async #watch(root: string): Promise<void> {
    const { zk } = this.#options;
    for (;;) {
      await zk.whenConnected();
      try {
        await zk.addWatch(root, 'persistent-recursive', this.#onEvent);
        return;
      } catch (error) {
        if (!isConnectionError(error)) throw error;
      }
    }
  }

  /** Reads everything; what is cached stays visible meanwhile and only differences are reported. */
  #startRebuild(): void {
    const rebuild = { waitingFor: new Set(this.#layout.directories.map(({ path }) => path)) };
    this.#rebuild = rebuild;
    this.#lockQueues.clear();
    for (const directory of this.#layout.directories) void this.#list(directory, rebuild);
    this.#reader.resume();
  }

  async #list(directory: RecordDirectory, rebuild: { waitingFor: Set<string> }): Promise<void> {
    let names: string[] = [];
    try {
      names = await this.#options.zk.getChildren(directory.path);
    } catch (error) {
      if (!isZooKeeperError(error, 'ZK_NO_NODE')) {
        this.#retryList(directory, rebuild, error);
        return;
      }
    }
    if (this.#rebuild !== rebuild) return;
    this.#onListed(directory, names, rebuild.waitingFor);
    rebuild.waitingFor.delete(directory.path);
    this.#finishRebuild();
  }

  #retryList(directory: RecordDirectory, rebuild: { waitingFor: Set<string> }, error: unknown): void {
    if (this.#rebuild !== rebuild || isConnectionError(error)) return;
    this.#options.logger.error('cannot list records, trying again', { path: directory.path, error });
    this.#options.clock.setTimer(RETRY_MS, () => {
      if (this.#rebuild === rebuild) void this.#list(directory, rebuild);
    });
  }

  /**
   * Reads what was found and what is cached. What is missing is not dropped on the word of the list: one of our commits
   * may have made it after the list was taken.
   */
  #onListed(directory: RecordDirectory, names: string[], waitingFor: Set<string>): void {
    const ids = new Set<string>();
    for (const name of names) {
      const cached = this.#layout.classify(`${directory.path}/${name}`);
      if (cached?.kind === 'record') ids.add(cached.id);
    }
    for (const id of this.#records.keys()) if (this.#directoryOf(id) === directory) ids.add(id);
    for (const id of this.#locks.ids()) if (this.#directoryOf(id) === directory) ids.add(id);
    for (const id of ids) {
      const path = this.#layout.recordPath(directory, id);
      waitingFor.add(path);
      this.#reader.mark({ read: 'data', path, id });
      if (!this.#layout.locks) continue;
      waitingFor.add(`${path}/lock`);
      this.#reader.mark({ read: 'children', path: `${path}/lock`, id });
    }
  }

  #directoryOf(id: string): RecordDirectory | undefined {
    return this.#layout.directories.find(({ idPrefix }) => id.startsWith(idPrefix));
  }

  #finishRebuild(): void {
    if (this.#rebuild === undefined || this.#rebuild.waitingFor.size > 0) return;
    this.#rebuild = undefined;
    this.#setReady(true);
  }

  /** The path's state is certain without the answer that was awaited. */
  #settled(path: string): void {
    this.#reader.settle(path);
    if (this.#rebuild?.waitingFor.delete(path)) this.#finishRebuild();
  }

  #setReady(ready: boolean): void {
    if (this.#ready === ready) return;
    this.#ready = ready;
    this.#readyListeners.call(ready);
  }

  #isRunning(): boolean {
    return this.#running;
  }

  // ---- own writes

  beginCommit(operations: readonly Operation[]): PendingCommit | undefined {
    const write = this.#own.begin(operations);
    if (write === undefined) return undefined;
    let report = () => {};
    return {
      apply: (results: readonly OperationResult[]) => {
        const { effects, unsure } = this.#own.succeed(write, results);
        report = this.#applyEffects(effects);
        for (const path of unsure) this.#readAgain(path);
      },
      report: () => report(),
      abandon: (fateUnknown: boolean) => this.#own.fail(write, fateUnknown),
    };
  }

  /** Changes the mirror as the operations changed ZooKeeper. @returns a function that reports each record once */
  #applyEffects(effects: readonly Effect[]): () => void {
    const records = new Map<string, T | undefined>();
    const locks = new Map<string, number>();
    for (const effect of effects) {
      const path = this.#layout.classify(effect.path);
      if (path === undefined) continue;
      // What was reported before the commit comes first.
      if (!locks.has(path.id)) locks.set(path.id, this.#locks.contenders(path.id));
      this.#applyLockQueue(path.id);
      if (path.kind === 'record') {
        if (!records.has(path.id)) records.set(path.id, this.#records.get(path.id));
        this.#applyRecordEffect(path.id, effect);
        this.#settled(effect.path);
      } else {
        this.#changeLock(path, effect.result !== undefined);
        this.#reader.distrust({ read: 'children', path: lockDirectoryOf(path), id: path.id });
      }
    }
    return () => {
      for (const [id, before] of records) {
        const after = this.#records.get(id);
        if (before !== after) this.#emit(id, before, after);
      }
      for (const [id, before] of locks) this.#emitLock(id, before);
    };
  }

  #applyRecordEffect(id: string, effect: Effect): void {
    const before = this.#records.get(id);
    if (effect.result === undefined) {
      this.#records.delete(id);
      this.#malformed.delete(id);
      return;
    }
    const { stat } = effect.result;
    // Not "<=": several parts of one multi carry the same number.
    if (before?.stat !== undefined && stat.mzxid < before.stat.mzxid) return;
    const { data = '' } = effect;
    const after = this.#decode(id, typeof data === 'string' ? Buffer.from(data, 'utf8') : data, stat, before);
    if (after === undefined) this.#records.delete(id);
    else this.#records.set(id, after);
  }
}

function recordPathOf(lockPath: CachedPath): string {
  const lock = lockDirectoryOf(lockPath);
  return lock.slice(0, lock.lastIndexOf('/'));
}

function lockDirectoryOf(path: CachedPath): string {
  return path.kind === 'lock-entry' ? TreeLayout.lockDirectoryOf(path.path) : path.path;
}

function isConnectionError(error: unknown): boolean {
  return isZooKeeperError(error, 'ZK_CONNECTION_LOSS', 'ZK_SESSION_EXPIRED', 'ZK_SESSION_MOVED');
}
