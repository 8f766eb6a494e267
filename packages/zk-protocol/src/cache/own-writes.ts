import type { Operation, OperationResult } from '../client/contract/types.js';
import type { TreeLayout } from './tree-layout.js';

/** Length of the number ZooKeeper appends to sequential znodes. */
const SEQUENCE_DIGITS = 10;
/** Limit of events held back for pending creates; beyond it they count as writes of other processes. */
const MAX_DEFERRED = 256;

/** Effect of one confirmed operation on a path of a cache. */
export type Effect =
  | { path: string; result: OperationResult & { op: 'create' | 'set' }; data: Buffer | string | undefined }
  | { path: string; result: undefined; data?: undefined };

/** One commit as a cache sees it: its operations on paths below the cache's roots. */
export interface PendingWrite {
  /** Increases with each commit. */
  readonly number: number;
  readonly indexes: readonly number[];
  readonly operations: readonly Operation[];
}

/** Events of a path with pending commits. */
interface Expectation {
  expected: number;
  seen: number;
  /** Another process wrote too. Stays set while commits on the path are pending, as events do not name their writer. */
  foreign: boolean;
}

/** Pending sequential creates with one prefix. */
interface SequentialCreates {
  /** Commit number of each create, oldest first. */
  readonly pending: number[];
  /** Held back paths with the prefix. A path can only be the result of a commit up to `upTo`: later ones were not sent yet. */
  readonly seen: Map<string, { events: number; readonly upTo: number }>;
}

/**
 * Distinguishes watch events of our own commits from those of other processes, so that own writes need no read.
 *
 * It relies on two guarantees of ZooKeeper: the events of a commit arrive before its reply, and each operation of a multi
 * causes exactly one event. Before a commit is sent, the number of expected events is recorded for each of its paths;
 * events of these paths are only counted. If more events than expected arrived before the reply, another process wrote
 * too, and the path is read. The path of a sequential create is unknown until the reply, so events of paths that match its
 * prefix are held back.
 */
export class OwnWrites {
  readonly #expected = new Map<string, Expectation>();
  readonly #sequential = new Map<string, SequentialCreates>();
  /** Numbers of commits that are not answered yet, oldest first. */
  readonly #pending = new Set<number>();
  #waiting: { readonly upTo: number; readonly resolve: () => void }[] = [];
  #lastNumber = 0;

  constructor(
    private readonly layout: Pick<TreeLayout, 'contains'>,
    private readonly readAgain: (path: string) => void,
    /** Called for a held back path that another process created. */
    private readonly onForeignCreate: (path: string) => void,
  ) {}

  /**
   * Counts an event if it can be of an own write.
   * @param isCreation - whether the event reports a new path; only those can belong to a pending sequential create
   * @returns false if the caller has to handle the event
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
    if (creates.seen.size > MAX_DEFERRED) this.#reportForeign(creates, Infinity);
    return true;
  }

  /** Number of held back paths, until it is known who created them. */
  get deferred(): number {
    let count = 0;
    for (const { seen } of this.#sequential.values()) count += seen.size;
    return count;
  }

  /** Resolves when no event is held back or counted any more whose writer is not known at the time of the call. */
  whenKnown(): Promise<void> {
    const isCounted = [...this.#expected.values()].some(({ seen }) => seen > 0);
    if (!isCounted && this.deferred === 0) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ upTo: this.#lastNumber, resolve }));
  }

  /** Announces a commit; `undefined` if no operation concerns the cache. Call {@link succeed} or {@link fail} next. */
  begin(operations: readonly Operation[]): PendingWrite | undefined {
    const indexes: number[] = [];
    const number = ++this.#lastNumber;
    for (let index = 0; index < operations.length; index++) {
      const operation = operations[index] as Operation;
      if (operation.op === 'check' || !this.layout.contains(operation.path)) continue;
      indexes.push(index);
      if (operation.op === 'create' && operation.sequential) this.#expectCreate(operation.path, number);
      else this.#expect(operation.path);
    }
    if (indexes.length === 0) return undefined;
    this.#pending.add(number);
    return { number, indexes, operations };
  }

  /**
   * The commit took effect.
   * @returns effects to apply in order, and paths to read afterwards because another process may have written them too
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
    this.#answered(write);
    return { effects, unsure };
  }

  /**
   * The commit was rejected or its outcome is unknown.
   * @param fateUnknown - the connection broke: read every path, whether or not events arrived
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
    this.#answered(write);
  }

  #answered({ number }: PendingWrite): void {
    this.#pending.delete(number);
    const [oldest = Infinity] = this.#pending;
    this.#waiting = this.#waiting.filter(({ upTo, resolve }) => {
      if (upTo < oldest) resolve();
      return upTo >= oldest;
    });
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

  /** @returns true if more events arrived than the pending commits explain */
  #settle(path: string): boolean {
    const entry = this.#expected.get(path);
    if (entry === undefined) return false;
    entry.foreign ||= entry.seen > entry.expected;
    entry.expected -= 1;
    entry.seen = Math.max(0, entry.seen - 1);
    if (entry.expected === 0) this.#expected.delete(path);
    return entry.foreign;
  }

  /** @returns true if another process changed the created path too */
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
    this.#reportForeign(creates, oldest ?? Infinity);
    if (oldest === undefined) this.#sequential.delete(prefix);
    return events > 1;
  }

  /** Reports held back paths that no pending commit can have created, as all of them were sent after the event. */
  #reportForeign({ seen }: SequentialCreates, oldestPending: number): void {
    for (const [path, { upTo }] of seen) {
      if (upTo >= oldestPending) continue;
      seen.delete(path);
      this.onForeignCreate(path);
    }
  }
}

function effectOf(operation: Operation, result: OperationResult): Effect {
  if (operation.op === 'create' && result.op === 'create') return { path: result.path, result, data: operation.data };
  if (operation.op === 'set' && result.op === 'set') return { path: operation.path, result, data: operation.data };
  return { path: operation.path, result: undefined };
}
