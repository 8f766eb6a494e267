import type { Clock } from '../base/clock.js';
import { isZooKeeperError } from '../client/contract/errors.js';
import type { ReadOperation, ReadResult, ZooKeeper } from '../client/contract/types.js';
import type { ZooKeeperLogger } from '../base/logger.js';

/** Limits of reads in one multi and of multis in flight: bound the memory of a rebuild, keep the connection busy. */
const READS_PER_BATCH = 128;
const MAX_BATCHES = 8;
/** Delay before the retry of a read that failed although the connection is up. */
const RETRY_MS = 1000;
/** After so many dropped replies in a row the next one is delivered, although the path was marked again meanwhile. */
const MAX_DROPPED = 2;

/** What to do with the reply to a read in flight. */
type OnReply = 'deliver' | 'drop' | 'read-again';

/** A read in flight. */
interface InFlight {
  onReply: OnReply;
  /** The path's state became known by other means: the reply may describe a deleted znode. */
  isOutdated: boolean;
}

/** A path to read. */
export type PathToRead = ReadOperation & { readonly id: string };

/** Settings of a {@link PathReader}. */
export interface PathReaderOptions {
  readonly zk: ZooKeeper;
  readonly clock: Clock;
  readonly logger: ZooKeeperLogger;
  /** Called with each reply; within a batch in the order in which the paths were marked. */
  readonly deliver: (read: PathToRead, result: ReadResult) => void;
  /** Called after all replies of a batch. */
  readonly delivered: () => void;
}

/**
 * Reads paths that may have changed. All paths marked within one turn of the event loop are read in as few round trips as
 * possible, and never two reads of one path run at a time. A path that is marked during its read is read again and the
 * first reply is dropped, so delivered data is never older than the event that marked the path. Exception: data that
 * changes more often than replies arrive is delivered now and then although it may be older, as it would never be else.
 */
export class PathReader {
  readonly #options: PathReaderOptions;
  readonly #dirty = new Map<string, PathToRead>();
  readonly #reading = new Map<string, InFlight>();
  /** Number of replies dropped in a row, by path. */
  readonly #dropped = new Map<string, number>();
  /** Callers of {@link whenRead}. */
  #waiters: (() => void)[] = [];
  #batches = 0;
  #scheduled = false;
  #stopped = false;

  constructor(options: PathReaderOptions) {
    this.#options = options;
  }

  get waiting(): number {
    return this.#dirty.size;
  }

  get reading(): number {
    return this.#reading.size;
  }

  /** True while a reply for the path is to come. */
  isPending(path: string): boolean {
    const inFlight = this.#reading.get(path);
    return this.#dirty.has(path) || (inFlight !== undefined && inFlight.onReply !== 'drop');
  }

  /** Reads the path again if it is being read, as the reply may be older than the change just seen. */
  invalidate(read: PathToRead): void {
    if (this.#reading.has(read.path)) this.mark(read);
  }

  /** Resolves when all paths marked before the call have been read. Waits while the connection is down. */
  async whenRead(): Promise<void> {
    let paths = [...this.#dirty.keys(), ...this.#reading.keys()];
    for (;;) {
      paths = paths.filter((path) => this.isPending(path));
      if (paths.length === 0 || this.#stopped) return;
      await new Promise<void>((resolve) => this.#waiters.push(resolve));
    }
  }

  mark(read: PathToRead): void {
    const inFlight = this.#reading.get(read.path);
    if (inFlight !== undefined) {
      inFlight.onReply = 'read-again';
      return;
    }
    this.#dirty.set(read.path, read);
    this.#schedule();
  }

  /** The path's state became known by other means: removes its mark and drops the reply to its read. */
  settle(path: string): void {
    this.#dirty.delete(path);
    const inFlight = this.#reading.get(path);
    if (inFlight !== undefined) Object.assign(inFlight, { onReply: 'drop', isOutdated: true });
    this.#dropped.delete(path);
    this.#wakeWaiters();
  }

  /** Sends reads that waited for the connection. */
  resume(): void {
    this.#schedule();
  }

  stop(): void {
    this.#stopped = true;
    this.#dirty.clear();
    this.#dropped.clear();
    this.#wakeWaiters();
  }

  #wakeWaiters(): void {
    if (this.#waiters.length === 0) return;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }

  #schedule(): void {
    if (this.#scheduled || this.#stopped || this.#dirty.size === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#send();
    });
  }

  #send(): void {
    while (this.#maySend()) {
      const batch: PathToRead[] = [];
      for (const read of this.#dirty.values()) {
        batch.push(read);
        if (batch.length === READS_PER_BATCH) break;
      }
      for (const { path } of batch) {
        this.#dirty.delete(path);
        this.#reading.set(path, { onReply: 'deliver', isOutdated: false });
      }
      this.#batches += 1;
      void this.#read(batch);
    }
  }

  /** A partial batch waits for the previous one, so that batches grow when ZooKeeper is slow. */
  #maySend(): boolean {
    if (this.#options.zk.state !== 'CONNECTED' || this.#stopped) return false;
    const { size } = this.#dirty;
    return size >= READS_PER_BATCH ? this.#batches < MAX_BATCHES : size > 0 && this.#batches === 0;
  }

  async #read(batch: PathToRead[]): Promise<void> {
    let results: ReadResult[] | undefined;
    let failure: unknown;
    try {
      results = await this.#options.zk.multiRead(batch.map(({ read, path }) => ({ read, path })));
    } catch (error) {
      failure = error;
    }
    this.#batches -= 1;
    if (this.#stopped) return;
    if (results === undefined) this.#retry(batch, failure);
    else this.#deliverAll(batch, results);
    this.#schedule();
  }

  #deliverAll(batch: PathToRead[], results: ReadResult[]): void {
    batch.forEach((read, index) => {
      const result = results[index] as ReadResult;
      const inFlight = this.#reading.get(read.path) ?? { onReply: 'drop', isOutdated: true };
      const { onReply } = inFlight;
      this.#reading.delete(read.path);
      if (onReply === 'read-again') this.#dirty.set(read.path, read);
      if (onReply !== 'deliver' && !this.#isOverdue(read.path, inFlight, result)) return;
      this.#dropped.delete(read.path);
      this.#options.deliver(read, result);
    });
    this.#options.delivered();
    this.#wakeWaiters();
  }

  /** Whether the reply has to be delivered because the previous ones were dropped. */
  #isOverdue(path: string, { onReply, isOutdated }: InFlight, result: ReadResult): boolean {
    if (onReply === 'drop' || isOutdated || result.read !== 'data') return false;
    const dropped = this.#dropped.get(path) ?? 0;
    this.#dropped.set(path, dropped + 1);
    return dropped >= MAX_DROPPED;
  }

  #retry(batch: PathToRead[], error: unknown): void {
    for (const read of batch) {
      const dropped = this.#reading.get(read.path)?.onReply === 'drop';
      this.#reading.delete(read.path);
      if (!dropped) this.#dirty.set(read.path, read);
    }
    if (isZooKeeperError(error, 'ZK_CONNECTION_LOSS', 'ZK_SESSION_EXPIRED', 'ZK_SESSION_MOVED', 'ZK_CLOSED')) return;
    this.#options.logger.warn('Failed to read changed records; retrying', { error, records: batch.length });
    this.#scheduled = true;
    this.#options.clock.setTimer(RETRY_MS, () => {
      this.#scheduled = false;
      this.#schedule();
    });
  }
}
