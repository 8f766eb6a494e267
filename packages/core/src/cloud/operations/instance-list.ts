import { orAbort, type CancelTimer, type Clock, steadyNow } from '@nodepool/zk-protocol';
import { ProviderUnavailableError } from '../../contract/errors.js';
import { startDeadline } from '../../async/deadline.js';
import type { Logger } from '../../contract/logger.js';
import { InstanceKnowledge } from './instance-knowledge.js';
import type { Instance, InstanceChange, InstanceView } from '../../contract/instance.js';
import { InstanceWaits, type Question } from './instance-waits.js';
import { INSTANCES, SILENT_READER, type EntryReader } from './unreadable-entries.js';
import { ReadPace, type PollingLimits } from './read-pace.js';

/** Source of instances. */
export interface InstanceSource<I extends Instance = Instance> {
  listInstances(signal: AbortSignal): Promise<readonly I[]>;
  getInstance?(externalId: string, signal: AbortSignal): Promise<I | undefined>;
  onInstanceChange?(listener: (change: InstanceChange<I>) => void): () => void;
  readonly polling?: PollingLimits | undefined;
}

/** Options of the shared list. */
export interface InstanceListOptions<I extends Instance = Instance> {
  readonly source: InstanceSource<I>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Number in [0, 1). */
  readonly random: () => number;
  /** Reports instances that cannot be read. Default: they are not reported. */
  readonly entries?: Pick<EntryReader, 'readEach'> | undefined;
  /** Called after each read. @param ageMs - age of the known state @param error - why the read failed */
  readonly onRead?: ((ageMs: number, error: Error | undefined) => void) | undefined;
}

/** Up to this number of awaited instances, each is read individually. */
export const MOST_READ_SINGLY = 3;
/** Logged when a list turns out to be incomplete. */
export const LIST_LACKS = 'A list of instances lacks one that exists';
const LIST_TIMEOUT_MS = 120_000;

/**
 * The instances of one provider, shared by all its machines: one list serves all waiting callers. Lists are only read while a
 * caller waits, more often for young waits. A cloud that pushes changes is rarely polled.
 */
export class InstanceList<I extends Instance = Instance> {
  readonly #source: InstanceSource<I>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #entries: Pick<EntryReader, 'readEach'>;
  readonly #onRead: InstanceListOptions['onRead'];
  readonly #known = new InstanceKnowledge<I>();
  readonly #waits = new InstanceWaits(() => this.#schedule());
  readonly #pace: ReadPace;
  readonly #outageListeners = new Set<(isAway: boolean) => void>();
  /** The last read failed. */
  #isAway = false;
  readonly #learners = new Set<(externalId: string | undefined) => void>();
  readonly #stop = new AbortController();
  readonly #unsubscribe: (() => void) | undefined;
  #reading = false;
  #timer: { readonly atMs: number; readonly cancel: CancelTimer } | undefined;

  constructor(options: InstanceListOptions<I>) {
    this.#source = options.source;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#entries = options.entries ?? SILENT_READER;
    this.#onRead = options.onRead;
    const { clock, random, source } = options;
    const isReporting = source.onInstanceChange !== undefined;
    this.#pace = new ReadPace({ clock, random, polling: source.polling, isReporting });
    this.#unsubscribe = source.onInstanceChange?.((change) => this.#reported(change));
  }

  /** Age of the known state in ms while reading fails; `0` otherwise. */
  get overdueMs(): number {
    return this.#pace.overdueMs;
  }

  /** The present moment, for `since`: later reads are newer. */
  mark(): number {
    return this.#known.tick();
  }

  /** The view of a machine. @param since - called at each use, as it changes with the state of the machine */
  view(since: () => number, signal: AbortSignal): InstanceView<I> {
    return {
      find: (externalId) => this.find(externalId, since(), signal),
      list: () => this.list(since(), signal),
    };
  }

  /**
   * The instance at some time after `since`; `undefined`: it does not exist. One list may miss an instance that does, so that its
   * absence is confirmed: by reading it alone, or by another list where the cloud cannot do that.
   */
  async find(externalId: string, since: number, signal: AbortSignal): Promise<I | undefined> {
    if (!this.#isCurrent(externalId, since)) await this.#ask(externalId, since, signal);
    if (this.#known.get(externalId) === undefined && !this.#known.isOwn(externalId)) {
      if (this.#source.getInstance) await this.#confirm(externalId, signal);
      else await this.#ask(externalId, this.mark(), signal);
    }
    return this.#known.get(externalId);
  }

  /** The instance as the cloud shows it now, by its id where the cloud can be asked so; `undefined`: it does not exist. */
  async lookAt(externalId: string, signal: AbortSignal): Promise<I | undefined> {
    if (!this.#source.getInstance) return this.find(externalId, this.mark(), signal);
    const deadline = startDeadline(this.#clock, LIST_TIMEOUT_MS, signal);
    try {
      await orAbort(this.#readEach(new Set([externalId]), deadline.signal), deadline.signal);
    } finally {
      deadline.end();
    }
    this.#tellLearned(externalId);
    return this.#known.get(externalId);
  }

  /** All instances at some time after `since`. */
  async list(since: number, signal: AbortSignal): Promise<readonly I[]> {
    if (this.#known.listedAt <= since) await this.#ask(undefined, since, signal);
    return this.#known.all();
  }

  /**
   * Resolves when the instance may have changed.
   * @param sinceMs - start of the wait; the longer it lasts, the less often the instance is read
   */
  news(externalId: string, sinceMs: number, signal: AbortSignal): Promise<void> {
    return this.#waits.watch(externalId, sinceMs, signal);
  }

  /** The last known state of the instance, of any age; `undefined`: it did not exist. */
  lastSeen(externalId: string): I | undefined {
    return this.#known.get(externalId);
  }

  /**
   * Calls the listener after each read by any caller, for one instance or for all (`undefined`). Causes no reads.
   * @returns a function that removes the listener
   */
  onLearned(listener: (externalId: string | undefined) => void): () => void {
    this.#learners.add(listener);
    return () => this.#learners.delete(listener);
  }

  /** Calls the listener when reading starts to fail, and when it succeeds again. @returns a function that removes it */
  onOutage(listener: (isAway: boolean) => void): () => void {
    this.#outageListeners.add(listener);
    return () => this.#outageListeners.delete(listener);
  }

  /** Ends all reads; later calls are rejected. */
  stop(): void {
    this.#unsubscribe?.();
    this.#stop.abort(new ProviderUnavailableError('the provider has been stopped'));
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#waits.refuseAll(this.#stop.signal.reason as Error);
  }

  /** In a cloud that pushes changes, a known state holds until the next push. */
  #isCurrent(externalId: string, since: number): boolean {
    if (this.#unsubscribe && this.#known.hasFact(externalId)) return true;
    return this.#known.knownAt(externalId) > since;
  }

  #ask(externalId: string | undefined, since: number, signal: AbortSignal): Promise<void> {
    const stop = this.#stop.signal;
    if (stop.aborted && !signal.aborted) return Promise.reject(stop.reason as Error);
    return this.#waits.ask(externalId, since, signal);
  }

  #reported(change: InstanceChange<I>): void {
    const { externalId, instance } = change;
    if (instance === undefined) this.#known.outdate(externalId);
    else {
      this.#known.report(externalId, instance ?? undefined);
      this.#tellLearned(externalId);
    }
    for (const question of [...this.#waits.questions]) {
      if (question.externalId === externalId) this.#answerIfKnown(question);
    }
    this.#waits.wake(externalId);
    this.#schedule();
  }

  #tellLearned(externalId: string | undefined): void {
    for (const learner of this.#learners) learner(externalId);
  }

  #answerIfKnown(question: Question): void {
    const { externalId, since } = question;
    const current = externalId === undefined ? this.#known.listedAt > since : this.#isCurrent(externalId, since);
    if (current) question.answer();
  }

  /** Schedules the next read, or reads at once; does nothing if no caller waits. */
  #schedule(): void {
    if (this.#reading || this.#stop.signal.aborted) return;
    const dueMs = this.#pace.dueMs(this.#waits, this.#waits.questions.size > 0 && this.#readsSingly() !== false);
    if (this.#timer?.atMs === dueMs) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (dueMs === undefined) return;
    const leftMs = dueMs - steadyNow(this.#clock);
    if (leftMs <= 0) {
      void this.#read();
      return;
    }
    const cancel = this.#clock.setTimer(leftMs, () => {
      this.#timer = undefined;
      void this.#read();
    });
    this.#timer = { atMs: dueMs, cancel };
  }

  /** Ids to read individually, or `false` if a list is better. */
  #readsSingly(): Set<string> | false {
    if (!this.#source.getInstance) return false;
    const ids = new Set<string>();
    for (const { externalId } of this.#waits.questions) {
      if (externalId === undefined) return false;
      ids.add(externalId);
    }
    if (this.#unsubscribe) return ids.size > 0 ? ids : false;
    for (const externalId of this.#waits.watchedIds) ids.add(externalId);
    return ids.size <= MOST_READ_SINGLY && ids.size > 0 ? ids : false;
  }

  async #read(): Promise<void> {
    this.#reading = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#pace.began();
    const deadline = startDeadline(this.#clock, LIST_TIMEOUT_MS, this.#stop.signal);
    let failure: Error | undefined;
    try {
      const ids = this.#readsSingly();
      await orAbort(ids ? this.#readEach(ids, deadline.signal) : this.#readAll(deadline.signal), deadline.signal);
      this.#pace.succeeded();
      this.#delivered(ids);
    } catch (error) {
      this.#pace.failed();
      if (!this.#stop.signal.aborted) this.#logger.debug('Reading instances failed', { error });
      const cause = deadline.expired ? hanging(error) : (error as Error);
      if (!this.#stop.signal.aborted) failure = cause;
      this.#waits.refuseAll(cause);
    } finally {
      deadline.end();
      const ageMs = this.#pace.ended();
      this.#onRead?.(ageMs, failure);
      this.#noteOutage(failure !== undefined);
      this.#reading = false;
      this.#schedule();
    }
  }

  #noteOutage(isAway: boolean): void {
    if (isAway === this.#isAway) return;
    this.#isAway = isAway;
    for (const listener of [...this.#outageListeners]) listener(isAway);
  }

  async #confirm(externalId: string, signal: AbortSignal): Promise<void> {
    await this.#readEach(new Set([externalId]), signal);
    if (this.#known.get(externalId)) this.#logger.info(LIST_LACKS, { externalId });
  }

  async #readAll(signal: AbortSignal): Promise<void> {
    const began = this.#known.tick();
    const shown = await this.#source.listInstances(signal);
    const read = (one: unknown): I | undefined => (isReadable<I>(one) ? one : undefined);
    this.#known.listed(began, this.#entries.readEach({ kind: INSTANCES, part: 'of the driver' }, shown, read));
  }

  async #readEach(ids: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    await Promise.all(
      [...ids].map(async (externalId) => {
        const began = this.#known.tick();
        this.#known.read(externalId, began, await this.#source.getInstance?.(externalId, signal));
      }),
    );
  }

  #delivered(ids: ReadonlySet<string> | false): void {
    if (ids) for (const externalId of ids) this.#tellLearned(externalId);
    else this.#tellLearned(undefined);
    for (const question of [...this.#waits.questions]) this.#answerIfKnown(question);
    this.#waits.wakeAll(ids);
  }
}

/** Whether an entry has what all instances have. */
function isReadable<I extends Instance>(one: unknown): one is I {
  const { externalId, metadata } = (one ?? {}) as Partial<Instance>;
  return typeof externalId === 'string' && typeof (metadata ?? undefined) === 'object';
}

function hanging(cause: unknown): Error {
  return new ProviderUnavailableError(`the cloud gave no list of instances within ${LIST_TIMEOUT_MS} ms`, { cause });
}
