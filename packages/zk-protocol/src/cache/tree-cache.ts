import { setMaxListeners } from 'node:events';
import type { Clock } from '../base/clock.js';
import { isZooKeeperError } from '../client/contract/errors.js';
import type {
  ConnectionState,
  OperationResult,
  Operation,
  ReadResult,
  Stat,
  WatchEvent,
} from '../client/contract/types.js';
import type { ZooKeeper } from '../client/contract/types.js';
import { BacklogWarning } from './backlog-warning.js';
import { LockMirror } from './lock-mirror.js';
import type { ZooKeeperLogger } from '../base/logger.js';
import { OwnWrites } from './own-writes.js';
import type { Effect } from './own-writes.js';
import { oncePerTurn } from './once-per-turn.js';
import { PathReader } from './path-reader.js';
import type { PathToRead } from './path-reader.js';
import { CacheReadiness } from './cache-readiness.js';
import { isConnectionError, Rebuild } from './rebuild.js';
import { RecordTable } from './record-table.js';
import { TreeLayout } from './tree-layout.js';
import type { CachedPath, RecordDirectory } from './tree-layout.js';
import type { CommitTarget, LockAware, PendingCommit, RecordCache, RecordChange, UnreadableRecord } from './types.js';

const UNREADABLE = 'Failed to read a record; ignoring it';

/** Settings of a {@link TreeCache}. */
export interface TreeCacheOptions<T> {
  readonly zk: ZooKeeper;
  readonly clock: Clock;
  readonly logger: ZooKeeperLogger;
  /** Kind of record for log lines, e.g. `node`. */
  readonly what: string;
  /** Paths with a persistent-recursive watch. Each directory is one of them or below one. */
  readonly watchRoots: readonly string[];
  readonly directories: readonly RecordDirectory[];
  /** Whether to mirror the lock directories of the records. */
  readonly locks: boolean;
  /** @returns undefined if the znode is not a record. @throws RecordError for a malformed body */
  decode(id: string, body: Buffer, stat: Stat): T | undefined;
}

/**
 * Mirror of the records below some directories.
 *
 * Listeners see changes of one record in ZooKeeper's order, but consecutive changes may be merged. A lock change is reported
 * after all record changes that ZooKeeper reported before it. Changes of different records have no order, except that the
 * results of one read or one commit become visible together.
 */
export class TreeCache<T extends { readonly stat: Stat | undefined }>
  implements RecordCache<T>, LockAware, CommitTarget
{
  readonly #options: TreeCacheOptions<T>;
  readonly #layout: TreeLayout;
  readonly #records: RecordTable<T>;
  readonly #locks: LockMirror;
  readonly #reader: PathReader;
  readonly #own: OwnWrites;
  readonly #readiness: CacheReadiness;
  readonly #backlog: BacklogWarning;
  readonly #rebuild: Rebuild;
  /** Aborted at the end of the cache. */
  readonly #end = new AbortController();
  #running = false;
  #unsubscribe: (() => void) | undefined;

  constructor(options: TreeCacheOptions<T>) {
    const { zk, clock, logger } = options;
    this.#options = options;
    setMaxListeners(0, this.#end.signal); // one for each caller that waits for a rebuild
    this.#layout = new TreeLayout(options.directories, options.locks);
    this.#records = new RecordTable((id, body, stat) => options.decode(id, body, stat), logger, zk);
    this.#locks = new LockMirror(logger);
    this.#readiness = new CacheReadiness(logger);
    this.#backlog = new BacklogWarning(clock, logger, options.what);
    this.#reader = new PathReader({
      ...{ zk, clock, logger, deliver: this.#onRead },
      delivered: () => this.#rebuild.finishIfDone(),
    });
    this.#own = new OwnWrites(
      this.#layout,
      (path) => this.#readAgain(path),
      (path) => this.#recordChanged(this.#layout.classify(path)),
    );
    this.#rebuild = new Rebuild({
      ...{ zk, clock, logger, layout: this.#layout, reader: this.#reader },
      knownIds: () => [...this.#records.ids(), ...this.#locks.ids()],
      onDone: () => this.#readiness.set(true),
    });
  }

  async start(): Promise<void> {
    if (this.#running) return this.whenReady();
    this.#running = true;
    for (const root of this.#options.watchRoots) await watch(this.#options.zk, root, this.#onEvent);
    if (!this.#isRunning()) return;
    this.#unsubscribe = this.#options.zk.onState(this.#onState);
    if (this.#options.zk.state === 'CONNECTED') this.#startRebuild();
    await this.whenReady();
  }

  stop(): void {
    if (!this.#running) return;
    this.#running = false;
    this.#end.abort();
    this.#unsubscribe?.();
    this.#rebuild.cancel();
    this.#reader.stop();
    this.#readiness.set(false);
    unwatch(this.#options, this.#onEvent);
  }

  get ready(): boolean {
    return this.#readiness.ready;
  }

  whenReady(signal?: AbortSignal): Promise<void> {
    return this.#readiness.whenReady(signal);
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

  get unreadable(): readonly UnreadableRecord[] {
    return this.#records.unreadable;
  }

  contenders(id: string): number {
    return this.#locks.contenders(id);
  }

  hasLockDirectory(id: string): boolean {
    return this.#locks.hasDirectory(id);
  }

  get eventQueue(): number {
    return this.#reader.waiting + this.#locks.queued + this.#own.deferred;
  }

  get playbackQueue(): number {
    return this.#reader.reading;
  }

  readonly settle = oncePerTurn(async () => {
    const { zk } = this.#options;
    await zk.sync('/'); // events of earlier writes arrive before its reply
    await this.#own.whenKnown();
    // a rebuild after a reconnect finds what has changed meanwhile; a cache that ends waits for none
    if (this.#running) await this.#readiness.whenReady(this.#end.signal).catch(() => {});
    await this.#reader.whenRead();
  });

  onChange(listener: (change: RecordChange<T>) => void): () => void {
    return this.#records.onChange(listener);
  }

  onLockChange(listener: (id: string, contenders: number) => void): () => void {
    return this.#locks.onChange(listener);
  }

  onReady(listener: (ready: boolean) => void): () => void {
    return this.#readiness.onReady(listener);
  }

  // ---- events

  readonly #onEvent = (event: WatchEvent): void => {
    if (!this.#running || event.type === 'children' || this.#own.count(event.path, event.type === 'created')) return;
    const path = this.#layout.classify(event.path);
    if (path === undefined) return;
    if (path.kind !== 'record') {
      this.#onLockEvent(path, event.type !== 'deleted');
    } else if (event.type === 'deleted') {
      this.#settled(path.path);
      this.#remove(path.id);
    } else this.#recordChanged(path);
  };

  #recordChanged(cached: CachedPath | undefined): void {
    if (cached?.kind !== 'record') return;
    this.#reader.mark({ read: 'data', path: cached.path, id: cached.id });
    if (this.ready) this.#backlog.check(this.#reader.waiting);
  }

  #onLockEvent(path: CachedPath, exists: boolean): void {
    this.#reader.invalidate({ read: 'children', path: lockDirectoryOf(path), id: path.id });
    // While a record is being read, changes of its lock are held back.
    const directory = this.#layout.directoryOf(path.id);
    const isBeingRead = directory !== undefined && this.#reader.isPending(this.#layout.recordPath(directory, path.id));
    this.#locks.changed(path, exists, isBeingRead);
  }

  #readAgain(path: string): void {
    const cached = this.#layout.classify(path);
    if (cached?.kind === 'record') this.#reader.mark({ read: 'data', path, id: cached.id });
    else if (cached) this.#reader.mark({ read: 'children', path: lockDirectoryOf(cached), id: cached.id });
  }

  // ---- replies

  readonly #onRead = (read: PathToRead, result: ReadResult): void => {
    if (result.read === 'data') this.#records.store(read.id, result.data, result.stat);
    else if (result.read === 'children') this.#locks.replace(read.id, result.children);
    else if (!isZooKeeperError(result.error, 'ZK_NO_NODE'))
      this.#options.logger.error(UNREADABLE, { path: read.path, error: result.error });
    else if (read.read === 'data') this.#remove(read.id);
    else this.#locks.replace(read.id, undefined);
    if (read.read === 'data' && !this.#reader.isPending(read.path)) this.#locks.release(read.id);
    this.#rebuild.arrived(read.path);
  };

  #remove(id: string): void {
    this.#records.remove(id);
    this.#locks.release(id);
  }

  // ---- rebuilding

  readonly #onState = (state: ConnectionState): void => {
    if (state === 'CONNECTED') {
      this.#startRebuild();
      return;
    }
    this.#rebuild.cancel();
    this.#readiness.set(false);
    if (state !== 'CLOSED') return;
    this.#running = false;
    this.#end.abort();
    this.#reader.stop();
  };

  #startRebuild(): void {
    this.#locks.dropQueued();
    this.#rebuild.start();
  }

  /** The path's state is known; a pending reply no longer matters. */
  #settled(path: string): void {
    this.#reader.settle(path);
    if (this.#rebuild.arrived(path)) this.#rebuild.finishIfDone();
  }

  #isRunning(): boolean {
    return this.#running;
  }

  // ---- own writes

  beginCommit(operations: readonly Operation[]): PendingCommit | undefined {
    const write = this.#running ? this.#own.begin(operations) : undefined;
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

  /** Applies effects of own operations. @returns a function that reports each changed record once */
  #applyEffects(effects: readonly Effect[]): () => void {
    const records = new Map<string, T | undefined>();
    const locks = new Map<string, number>();
    for (const effect of effects) {
      const path = this.#layout.classify(effect.path);
      if (path === undefined) continue;
      // Lock events that preceded the commit come first.
      if (!locks.has(path.id)) locks.set(path.id, this.#locks.contenders(path.id));
      this.#locks.flush(path.id);
      if (path.kind === 'record') {
        if (!records.has(path.id)) records.set(path.id, this.#records.get(path.id));
        this.#records.applyEffect(path.id, effect);
        this.#settled(effect.path);
      } else {
        this.#locks.apply(path, effect.result !== undefined);
        this.#reader.invalidate({ read: 'children', path: lockDirectoryOf(path), id: path.id });
      }
    }
    return () => {
      for (const [id, before] of records) this.#records.report(id, before);
      for (const [id, before] of locks) this.#locks.report(id, before);
    };
  }
}

function lockDirectoryOf(path: CachedPath): string {
  return path.kind === 'lock-entry' ? TreeLayout.lockDirectoryOf(path.path) : path.path;
}

function unwatch(
  { zk, logger, watchRoots }: Pick<TreeCacheOptions<unknown>, 'zk' | 'logger' | 'watchRoots'>,
  onEvent: (event: WatchEvent) => void,
): void {
  for (const path of watchRoots) {
    zk.removeWatch(path, onEvent).catch((error: unknown) => {
      logger.debug('Failed to remove a watch; it ends with the session', { path, error });
    });
  }
}

/** Adds a watch; retries whenever the connection breaks. */
export async function watch(zk: ZooKeeper, root: string, onEvent: (event: WatchEvent) => void): Promise<void> {
  for (;;) {
    await zk.whenConnected();
    try {
      await zk.addWatch(root, 'persistent-recursive', onEvent);
      return;
    } catch (error) {
      if (!isConnectionError(error)) throw error;
    }
  }
}
