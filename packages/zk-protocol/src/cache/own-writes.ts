import type { Operation, OperationResult } from '../client/contract/types.js';

/** Length of the number ZooKeeper appends to sequential znodes. */
const SEQUENCE_DIGITS = 10;
/** Events kept back for creates under way; more than these are taken for others'. */
const MAX_DEFERRED = 256;

/** What one confirmed operation did to a path of a cache. */
export type Effect =
  | { path: string; result: OperationResult & { op: 'create' | 'set' }; data: Buffer | string | undefined }
  | { path: string; result: undefined; data?: undefined };

/** One commit as a cache sees it: its operations on paths below the cache's roots. */
export interface PendingWrite {
  /** Grows from commit to commit. */
  readonly number: number;
  readonly indexes: readonly number[];
  readonly operations: readonly Operation[];
}

/** Events of a path with commits under way. */
interface Expectation {
  expected: number;
  seen: number;
  /** Another process wrote as well; holds until no commit on the path is under way, as events cannot be told apart. */
  foreign: boolean;
}

/** Sequential creates under way with one prefix. */
interface SequentialCreates {
  /** The number of its commit for each, oldest first. */
  readonly pending: number[];
  /** Paths with the prefix that were reported; each may be of a commit up to `upTo`, as later ones were not sent yet. */
  readonly seen: Map<string, { events: number; readonly upTo: number }>;
}

/**
 * Tells watch events of our own commits from those of others, so that our writes need not be read back.
 *
 * It rests on two promises of ZooKeeper: a commit's events arrive before its reply, and a part of a multi causes exactly
 * one event. Before a commit is sent, each of its paths is told how many events to expect. An event of such a path is
 * only counted. When the reply is there, more events than expected mean that another process wrote too, and the path is
 * read. Paths of sequential creates are unknown until the reply, so events of paths that could be theirs are kept back.
 */
export class OwnWrites {
  readonly #expected = new Map<string, Expectation>();
  readonly #sequential = new Map<string, SequentialCreates>();
  #lastNumber = 0;

  constructor(
    private readonly isOurs: (path: string) => boolean,
    private readonly readAgain: (path: string) => void,
    /** Another process has made the path, which was reported while it could have been ours. */
    private readonly othersCreated: (path: string) => void,
  ) {}

  /**
   * @param isCreation - the path came into being: only those can be of a sequential create whose reply is not there yet,
   * and what follows it
   * @returns true when the event was counted and the caller need not react
   */
  count(path: string, isCreation: boolean): boolean {
    const entry = this.#expected.get(path);
    if (entry !== undefined) {
      entry.seen += 1;
      return true;
    }
    if (this.#sequential.size === 0) return false;
    const creates = this.#sequential.get(path.slice(0, -SEQUENCE_DIGITS));
    if (creates === undefined) return false;
    const seen = creates.seen.get(path);
    if (seen === undefined && !isCreation) return false;
    if (seen === undefined) creates.seen.set(path, { events: 1, upTo: this.#lastNumber });
    else seen.events += 1;
    if (creates.seen.size > MAX_DEFERRED) this.#tellDeferred(creates, Infinity);
    return true;
  }

  /** Paths that are kept back until it is known whether we made them. */
  get deferred(): number {
    let count = 0;
    for (const { seen } of this.#sequential.values()) count += seen.size;
    return count;
  }

  /** Announces a commit; `undefined` when none of its operations is ours. Must be followed by one of the others. */
  begin(operations: readonly Operation[]): PendingWrite | undefined {
    const indexes: number[] = [];
    const number = ++this.#lastNumber;
    operations.forEach((operation, index) => {
      if (operation.op === 'check' || !this.isOurs(operation.path)) return;
      indexes.push(index);
      if (operation.op === 'create' && operation.sequential) this.#expectCreate(operation.path, number);
      else this.#expect(operation.path);
    });
    return indexes.length === 0 ? undefined : { number, indexes, operations };
  }

  /**
   * The commit took effect.
   * @returns what to apply, in order; and paths that others may have written as well, to be read after that
   */
  succeed(write: PendingWrite, results: readonly OperationResult[]): { effects: Effect[]; unsure: Set<string> } {
    const effects: Effect[] = [];
    const unsure = new Set<string>();
    for (const index of write.indexes) {
      const operation = write.operations[index] as Operation;
      const result = results[index] as OperationResult;
      if (result.op === 'create' && operation.op === 'create' && operation.sequential) {
        if (this.#settleCreate(write.number, operation.path, result.path)) unsure.add(result.path);
      } else if (this.#settle(operation.path)) unsure.add(operation.path);
      effects.push(effectOf(operation, result));
    }
    return { effects, unsure };
  }

  /**
   * The commit was refused or its fate is unknown.
   * @param fateUnknown - the connection broke: every path is read, whether or not events came
   */
  fail(write: PendingWrite, fateUnknown: boolean): void {
    for (const index of write.indexes) {
      const operation = write.operations[index] as Operation;
      if (operation.op === 'create' && operation.sequential) {
        this.#settleCreate(write.number, operation.path, undefined);
        continue;
      }
      const entry = this.#expected.get(operation.path);
      if (entry !== undefined && (entry.seen > 0 || fateUnknown)) entry.foreign = true;
      if (this.#settle(operation.path)) this.readAgain(operation.path);
    }
  }

  #expect(path: string): void {
    const entry = this.#expected.get(path);
    if (entry === undefined) this.#expected.set(path, { expected: 1, seen: 0, foreign: false });
    else entry.expected += 1;
  }

  #expectCreate(prefix: string, number: number): void {
    const creates = this.#sequential.get(prefix);
    if (creates === undefined) this.#sequential.set(prefix, { pending: [number], seen: new Map() });
    else creates.pending.push(number);
  }

  /** @returns true when more events came than all commits under way account for */
  #settle(path: string): boolean {
    const entry = this.#expected.get(path);
    if (entry === undefined) return false;
    entry.foreign ||= entry.seen > entry.expected;
    entry.expected -= 1;
    entry.seen = Math.max(0, entry.seen - 1);
    if (entry.expected === 0) this.#expected.delete(path);
    return entry.foreign;
  }

  /** @returns true when another process touched the created path as well */
  #settleCreate(number: number, prefix: string, created: string | undefined): boolean {
    const creates = this.#sequential.get(prefix);
    if (creates === undefined) return false;
    let events = 0;
    if (created !== undefined) {
      events = creates.seen.get(created)?.events ?? 0;
      creates.seen.delete(created);
    }
    const at = creates.pending.indexOf(number);
    if (at >= 0) creates.pending.splice(at, 1);
    const [oldest] = creates.pending;
    this.#tellDeferred(creates, oldest ?? Infinity);
    if (oldest === undefined) this.#sequential.delete(prefix);
    return events > 1;
  }

  /** Tells of what none of the commits still under way can have made: all of them were sent after it was reported. */
  #tellDeferred({ seen }: SequentialCreates, oldestPending: number): void {
    for (const [path, { upTo }] of seen) {
      if (upTo >= oldestPending) continue;
      seen.delete(path);
      this.othersCreated(path);
    }
  }
}

function effectOf(operation: Operation, result: OperationResult): Effect {
  if (operation.op === 'create' && result.op === 'create') return { path: result.path, result, data: operation.data };
  if (operation.op === 'set' && result.op === 'set') return { path: operation.path, result, data: operation.data };
  return { path: operation.path, result: undefined };
}
