import type { CancelTimer, Clock } from '@nodepool/zk-protocol';
import { ProviderUnavailableError } from '../../contract/errors.js';
import { startDeadline } from '../../async/deadline.js';
import type { Logger } from '../../contract/logger.js';
import { InstanceKnowledge } from './instance-knowledge.js';
import type { Instance, InstanceChange, InstanceView } from '../../contract/instance.js';
import { orAbort } from '../../async/or-abort.js';

/** Where the instances come from. */
export interface InstanceSource<I extends Instance = Instance> {
  listInstances(signal: AbortSignal): Promise<readonly I[]>;
  getInstance?(externalId: string, signal: AbortSignal): Promise<I | undefined>;
  onInstanceChange?(listener: (change: InstanceChange<I>) => void): () => void;
  readonly polling?: { readonly minMs: number; readonly maxMs: number } | undefined;
}

/** What the shared list works with. */
export interface InstanceListOptions<I extends Instance = Instance> {
  readonly source: InstanceSource<I>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Number in [0, 1). */
  readonly random: () => number;
  /** Told after each read, also after one that failed. @param ageMs - how old what is known is now */
  readonly onRead?: ((ageMs: number) => void) | undefined;
}

/** Somebody who wants an answer not older than `since`. */
interface Question {
  /** `undefined`: all of them. */
  readonly externalId: string | undefined;
  readonly since: number;
  readonly answer: () => void;
  readonly refuse: (error: Error) => void;
}

/** Somebody who has looked and waits for a change. */
interface Watcher {
  readonly externalId: string;
  readonly sinceMs: number;
  readonly wake: () => void;
}

const DEFAULT_POLLING = { minMs: 500, maxMs: 10_000 };
/** A cloud that reports changes is still asked this often, in case one got lost. */
const NET_MS = 30_000;
/** While no more machines than this wait, each instance is read by itself. */
const FEW = 3;
const LIST_TIMEOUT_MS = 120_000;
const AGE_SHARE = 0.25;

/**
 * The instances of one provider, shared by all its machines: one list serves everybody who waits. Lists are taken only
 * while somebody waits, the more often the younger the youngest wait; a cloud that reports changes by itself is hardly
 * ever asked.
 */
export class InstanceList<I extends Instance = Instance> {
  readonly #source: InstanceSource<I>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #random: () => number;
  readonly #onRead: ((ageMs: number) => void) | undefined;
  readonly #known = new InstanceKnowledge<I>();
  readonly #questions = new Set<Question>();
  readonly #watchers = new Map<string, Set<Watcher>>();
  readonly #learners = new Set<(externalId: string | undefined) => void>();
  readonly #stop = new AbortController();
  readonly #unsubscribe: (() => void) | undefined;
  readonly #minMs: number;
  readonly #maxMs: number;
  #reading = false;
  #lastBeganMs = -Infinity;
  #lastEndedMs = -Infinity;
  #failures = 0;
  /** When something was last read. */
  #lastReadMs = -Infinity;
  /** When the first of the present failures began. */
  #failingSinceMs = -Infinity;
  #timer: { readonly atMs: number; readonly cancel: CancelTimer } | undefined;

  constructor(options: InstanceListOptions<I>) {
    this.#source = options.source;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#random = options.random;
    this.#onRead = options.onRead;
    const { minMs, maxMs } = options.source.polling ?? DEFAULT_POLLING;
    this.#minMs = minMs;
    this.#maxMs = Math.max(minMs, maxMs);
    this.#unsubscribe = options.source.onInstanceChange?.((change) => this.#reported(change));
  }

  /** How old what is known is, ms, while reading it fails; `0` otherwise. */
  get overdueMs(): number {
    return this.#failures === 0 ? 0 : this.#clock.now() - Math.max(this.#lastReadMs, this.#failingSinceMs);
  }

  /** A moment, for `since`: what is read from now on is newer. */
  mark(): number {
    return this.#known.tick();
  }

  /** What a machine sees. @param since - called at each use, as the machine moves on */
  view(since: () => number, signal: AbortSignal): InstanceView<I> {
    return {
      find: (externalId) => this.find(externalId, since(), signal),
      list: () => this.list(since(), signal),
    };
  }

  /** The instance as it was at some time after `since`; `undefined`: the cloud does not have it. */
  async find(externalId: string, since: number, signal: AbortSignal): Promise<I | undefined> {
    if (!this.#isCurrent(externalId, since)) await this.#ask(externalId, since, signal);
    return this.#known.get(externalId);
  }

  /** All instances as they were at some time after `since`. */
  async list(since: number, signal: AbortSignal): Promise<readonly I[]> {
    if (this.#known.listedAt <= since) await this.#ask(undefined, since, signal);
    return this.#known.all();
  }

  /**
   * Resolves when the instance may have changed.
   * @param sinceMs - since when somebody has waited for it: the longer, the slower it is looked up
   */
  news(externalId: string, sinceMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        signal.removeEventListener('abort', onAbort);
        this.#removeWatcher(watcher);
      };
      const onAbort = () => {
        leave();
        this.#schedule();
        reject(signal.reason as Error);
      };
      const wake = () => {
        leave();
        resolve();
      };
      const watcher: Watcher = { externalId, sinceMs, wake };
      if (signal.aborted) {
        reject(signal.reason as Error);
        return;
      }
      signal.addEventListener('abort', onAbort, { once: true });
      const others = this.#watchers.get(externalId);
      if (others) others.add(watcher);
      else this.#watchers.set(externalId, new Set([watcher]));
      this.#schedule();
    });
  }

  /** The instance as it was last seen, however long ago; `undefined`: it was not there. */
  lastSeen(externalId: string): I | undefined {
    return this.#known.get(externalId);
  }

  /**
   * Reports that something was learned, by whomever it was asked for: of one instance, or of all (`undefined`). Nothing
   * is read for it.
   * @returns how to end it
   */
  onLearned(listener: (externalId: string | undefined) => void): () => void {
    this.#learners.add(listener);
    return () => this.#learners.delete(listener);
  }

  /** Ends all reading; whoever still asks is refused. */
  stop(): void {
    this.#unsubscribe?.();
    this.#stop.abort(new ProviderUnavailableError('the provider has been stopped'));
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const { refuse } of [...this.#questions]) refuse(this.#stop.signal.reason as Error);
  }

  /** In a cloud that reports changes, what is known stays true until it reports another. */
  #isCurrent(externalId: string, since: number): boolean {
    if (this.#unsubscribe && this.#known.hasFact(externalId)) return true;
    return this.#known.knownAt(externalId) > since;
  }

  #ask(externalId: string | undefined, since: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        signal.removeEventListener('abort', onAbort);
        this.#questions.delete(question);
      };
      const onAbort = () => refuse(signal.reason as Error);
      const refuse = (error: Error) => {
        leave();
        this.#schedule();
        reject(error);
      };
      const answer = () => {
        leave();
        resolve();
      };
      const question: Question = { externalId, since, answer, refuse };
      if (signal.aborted || this.#stop.signal.aborted) {
        reject((signal.aborted ? signal.reason : this.#stop.signal.reason) as Error);
        return;
      }
      signal.addEventListener('abort', onAbort, { once: true });
      this.#questions.add(question);
      this.#schedule();
    });
  }

  #reported(change: InstanceChange<I>): void {
    const { externalId, instance } = change;
    if (instance === undefined) this.#known.outdate(externalId);
    else {
      this.#known.report(externalId, instance ?? undefined);
      this.#tellLearned(externalId);
    }
    for (const question of [...this.#questions]) if (question.externalId === externalId) this.#answerIfKnown(question);
    for (const watcher of [...(this.#watchers.get(externalId) ?? [])]) watcher.wake();
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

  #removeWatcher(watcher: Watcher): void {
    const others = this.#watchers.get(watcher.externalId);
    others?.delete(watcher);
    if (others?.size === 0) this.#watchers.delete(watcher.externalId);
  }

  /** Sets the timer for the next read, or reads at once, or does nothing when nobody waits. */
  #schedule(): void {
    if (this.#reading || this.#stop.signal.aborted) return;
    const dueMs = this.#dueMs();
    if (this.#timer?.atMs === dueMs) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (dueMs === undefined) return;
    const leftMs = dueMs - this.#clock.now();
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

  #dueMs(): number | undefined {
    if (this.#questions.size > 0)
      return this.#readsSingly() ? this.#afterFailure() : this.#lastBeganMs + this.#paceMs();
    if (this.#watchers.size === 0) return undefined;
    if (this.#unsubscribe) return Math.max(this.#lastEndedMs, this.#oldestMs()) + NET_MS;
    const lastMs = Math.max(this.#lastEndedMs, 0);
    const ageMs = Math.max(0, lastMs - this.#youngestMs());
    const pauseMs = Math.min(this.#maxMs, Math.max(this.#paceMs(), ageMs * AGE_SHARE));
    return lastMs + pauseMs;
  }

  #oldestMs(): number {
    let oldest = Infinity;
    for (const watchers of this.#watchers.values()) {
      for (const { sinceMs } of watchers) oldest = Math.min(oldest, sinceMs);
    }
    return oldest;
  }

  #youngestMs(): number {
    let youngest = -Infinity;
    for (const watchers of this.#watchers.values()) {
      for (const { sinceMs } of watchers) youngest = Math.max(youngest, sinceMs);
    }
    return youngest;
  }

  /** Shortest pause between two reads: longer after failures. */
  #paceMs(): number {
    if (this.#failures === 0) return this.#minMs;
    const full = Math.min(Math.max(this.#maxMs, 1_000), Math.max(this.#minMs, 250) * 2 ** Math.min(this.#failures, 20));
    return Math.max(this.#minMs, full * (1 - this.#random() / 4));
  }

  #afterFailure(): number {
    return this.#failures === 0 ? -Infinity : this.#lastBeganMs + this.#paceMs();
  }

  /** Ids to read one by one, or `false` when a list is better. */
  #readsSingly(): Set<string> | false {
    if (!this.#source.getInstance) return false;
    const ids = new Set<string>();
    for (const { externalId } of this.#questions) {
      if (externalId === undefined) return false;
      ids.add(externalId);
    }
    if (this.#unsubscribe) return ids.size > 0 ? ids : false;
    for (const externalId of this.#watchers.keys()) ids.add(externalId);
    return ids.size <= FEW && ids.size > 0 ? ids : false;
  }

  async #read(): Promise<void> {
    this.#reading = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#lastBeganMs = this.#clock.now();
    const deadline = startDeadline(this.#clock, LIST_TIMEOUT_MS, this.#stop.signal);
    try {
      const ids = this.#readsSingly();
      await orAbort(ids ? this.#readEach(ids, deadline.signal) : this.#readAll(deadline.signal), deadline.signal);
      this.#failures = 0;
      this.#lastReadMs = this.#lastBeganMs;
      this.#delivered(ids);
    } catch (error) {
      if (this.#failures++ === 0) this.#failingSinceMs = this.#lastBeganMs;
      if (!this.#stop.signal.aborted) this.#logger.debug('Reading instances failed', { error });
      for (const { refuse } of [...this.#questions]) refuse(deadline.expired ? hanging(error) : (error as Error));
    } finally {
      deadline.end();
      this.#lastEndedMs = this.#clock.now();
      this.#onRead?.(this.#lastEndedMs - Math.max(this.#lastReadMs, this.#failingSinceMs));
      this.#reading = false;
      this.#schedule();
    }
  }

  async #readAll(signal: AbortSignal): Promise<void> {
    const began = this.#known.tick();
    this.#known.listed(began, await this.#source.listInstances(signal));
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
    for (const question of [...this.#questions]) this.#answerIfKnown(question);
    for (const [externalId, watchers] of [...this.#watchers]) {
      if (!ids || ids.has(externalId)) for (const watcher of [...watchers]) watcher.wake();
    }
  }
}

function hanging(cause: unknown): Error {
  return new ProviderUnavailableError(`the cloud gave no list of instances within ${LIST_TIMEOUT_MS} ms`, { cause });
}
