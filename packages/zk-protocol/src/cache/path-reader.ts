import type { Clock } from '../base/clock.js';
import { isZooKeeperError } from '../client/contract/errors.js';
import type { ReadOperation, ReadResult, ZooKeeper } from '../client/contract/types.js';
import type { ZooKeeperLogger } from '../base/logger.js';

/** Reads in one multi, and multis under way. Bounds the memory a rebuild needs and keeps the pipe full. */
const READS_PER_BATCH = 128;
const MAX_BATCHES = 8;
/** Pause after a read failed for another reason than a broken connection. */
const RETRY_MS = 1000;
/** Answers dropped in a row because the path was marked meanwhile; the next one is delivered all the same. */
const MOST_DROPPED = 2;

/** What to do with the answer of a read under way. */
type Answer = 'deliver' | 'drop' | 'read-again';

/** A read under way. */
interface UnderWay {
  answer: Answer;
  /** What the path is became certain meanwhile: the answer may be of something that is gone. */
  isOutdated: boolean;
}

/** A path to read. */
export type PathToRead = ReadOperation & { readonly id: string };

/** What a {@link PathReader} works with. */
export interface PathReaderOptions {
  readonly zk: ZooKeeper;
  readonly clock: Clock;
  readonly logger: ZooKeeperLogger;
  /** Called with each answer, in the order of marking within a batch. */
  readonly deliver: (read: PathToRead, result: ReadResult) => void;
  /** Called after all answers of a batch were delivered. */
  readonly delivered: () => void;
}

/**
 * Collects paths that may have changed and reads them: everything marked within one turn of the event loop in as few
 * round trips as possible, never two reads of one path at a time. A path marked again while it is being read is read once
 * more and the first answer is dropped, so what is delivered is never older than the event that asked for it. Only of
 * data that changes more often than answers come, some are delivered that may be older: it would never be known else.
 */
export class PathReader {
  readonly #options: PathReaderOptions;
  readonly #dirty = new Map<string, PathToRead>();
  readonly #reading = new Map<string, UnderWay>();
  /** How many answers in a row were dropped. */
  readonly #dropped = new Map<string, number>();
  /** Whoever waits until paths are known. */
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

  /** True while an answer for the path is still to come. */
  isPending(path: string): boolean {
    const underWay = this.#reading.get(path);
    return this.#dirty.has(path) || (underWay !== undefined && underWay.answer !== 'drop');
  }

  /** If the path is being read, the answer may be older than what was just learnt: read it once more. */
  distrust(read: PathToRead): void {
    if (this.#reading.has(read.path)) this.mark(read);
  }

  /** Resolves when everything that was marked before the call is known; not while the connection is away. */
  async whenRead(): Promise<void> {
    let paths = [...this.#dirty.keys(), ...this.#reading.keys()];
    for (;;) {
      paths = paths.filter((path) => this.isPending(path));
      if (paths.length === 0 || this.#stopped) return;
      await new Promise<void>((resolve) => this.#waiters.push(resolve));
    }
  }

  mark(read: PathToRead): void {
    const underWay = this.#reading.get(read.path);
    if (underWay !== undefined) {
      underWay.answer = 'read-again';
      return;
    }
    this.#dirty.set(read.path, read);
    this.#schedule();
  }

  /** What is known about the path just became certain: forget marks, and drop the answer of a read under way. */
  settle(path: string): void {
    this.#dirty.delete(path);
    const underWay = this.#reading.get(path);
    if (underWay !== undefined) Object.assign(underWay, { answer: 'drop', isOutdated: true });
    this.#dropped.delete(path);
    this.#wakeWaiters();
  }

  /** Sends what waited for the connection. */
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
        this.#reading.set(path, { answer: 'deliver', isOutdated: false });
      }
      this.#batches += 1;
      void this.#read(batch);
    }
  }

  /** What is not a full batch waits for the answer of the one before, so that the busier ZooKeeper is, the more go together. */
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
      const underWay = this.#reading.get(read.path) ?? { answer: 'drop', isOutdated: true };
      const { answer } = underWay;
      this.#reading.delete(read.path);
      if (answer === 'read-again') this.#dirty.set(read.path, read);
      if (answer !== 'deliver' && !this.#isOverdue(read.path, underWay, result)) return;
      this.#dropped.delete(read.path);
      this.#options.deliver(read, result);
    });
    this.#options.delivered();
    this.#wakeWaiters();
  }

  /** The answer was to be dropped, and so were those before it. */
  #isOverdue(path: string, { answer, isOutdated }: UnderWay, result: ReadResult): boolean {
    if (answer === 'drop' || isOutdated || result.read !== 'data') return false;
    const dropped = this.#dropped.get(path) ?? 0;
    this.#dropped.set(path, dropped + 1);
    return dropped >= MOST_DROPPED;
  }

  #retry(batch: PathToRead[], error: unknown): void {
    for (const read of batch) {
      const dropped = this.#reading.get(read.path)?.answer === 'drop';
      this.#reading.delete(read.path);
      if (!dropped) this.#dirty.set(read.path, read);
    }
    if (isZooKeeperError(error, 'ZK_CONNECTION_LOSS', 'ZK_SESSION_EXPIRED', 'ZK_SESSION_MOVED', 'ZK_CLOSED')) return;
    this.#options.logger.warn('Cannot read changed records, trying again', { error, records: batch.length });
    this.#scheduled = true;
    this.#options.clock.setTimer(RETRY_MS, () => {
      this.#scheduled = false;
      this.#schedule();
    });
  }
}
