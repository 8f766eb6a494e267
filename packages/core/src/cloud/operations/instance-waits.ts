/** A caller that needs a state not older than `since`. */
export interface Question {
  /** `undefined`: all instances. */
  readonly externalId: string | undefined;
  readonly since: number;
  readonly answer: () => void;
  readonly refuse: (error: Error) => void;
}

/** A caller that waits for a change of an instance. */
interface Watcher {
  readonly externalId: string;
  readonly sinceMs: number;
  readonly wake: () => void;
}

/** Callers that wait for instances: open queries, and watchers of single instances. */
export class InstanceWaits {
  readonly #changed: () => void;
  readonly #questions = new Set<Question>();
  readonly #watchers = new Map<string, Set<Watcher>>();

  /** @param changed - called when a caller starts or stops waiting */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** Open queries. */
  get questions(): ReadonlySet<Question> {
    return this.#questions;
  }

  /** Ids of the instances that are watched. */
  get watchedIds(): Iterable<string> {
    return this.#watchers.keys();
  }

  get hasWatchers(): boolean {
    return this.#watchers.size > 0;
  }

  /** Start of the oldest present watch. */
  get oldestMs(): number {
    let oldest = Infinity;
    for (const watchers of this.#watchers.values()) {
      for (const { sinceMs } of watchers) oldest = Math.min(oldest, sinceMs);
    }
    return oldest;
  }

  /** Start of the youngest present watch. */
  get youngestMs(): number {
    let youngest = -Infinity;
    for (const watchers of this.#watchers.values()) {
      for (const { sinceMs } of watchers) youngest = Math.max(youngest, sinceMs);
    }
    return youngest;
  }

  /** Resolves when the query is answered. @throws the error of `refuse`, or the reason of the signal */
  ask(externalId: string | undefined, since: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        signal.removeEventListener('abort', onAbort);
        this.#questions.delete(question);
      };
      const onAbort = () => refuse(signal.reason as Error);
      const refuse = (error: Error) => {
        leave();
        this.#changed();
        reject(error);
      };
      const answer = () => {
        leave();
        resolve();
      };
      const question: Question = { externalId, since, answer, refuse };
      if (signal.aborted) {
        reject(signal.reason as Error);
        return;
      }
      signal.addEventListener('abort', onAbort, { once: true });
      this.#questions.add(question);
      this.#changed();
    });
  }

  /** Resolves when the instance may have changed. @param sinceMs - start of the caller's wait */
  watch(externalId: string, sinceMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        signal.removeEventListener('abort', onAbort);
        this.#removeWatcher(watcher);
      };
      const onAbort = () => {
        leave();
        this.#changed();
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
      this.#changed();
    });
  }

  /** Wakes the watchers of one instance. */
  wake(externalId: string): void {
    for (const watcher of [...(this.#watchers.get(externalId) ?? [])]) watcher.wake();
  }

  /** Wakes the watchers of these instances. @param ids - `false`: of all */
  wakeAll(ids: ReadonlySet<string> | false): void {
    for (const externalId of [...this.#watchers.keys()]) if (!ids || ids.has(externalId)) this.wake(externalId);
  }

  /** Rejects all open queries. */
  refuseAll(error: Error): void {
    for (const { refuse } of [...this.#questions]) refuse(error);
  }

  #removeWatcher(watcher: Watcher): void {
    const others = this.#watchers.get(watcher.externalId);
    others?.delete(watcher);
    if (others?.size === 0) this.#watchers.delete(watcher.externalId);
  }
}
