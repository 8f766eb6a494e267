/** A caller that wants an answer not older than `since`. */
export interface Question {
  /** `undefined`: all instances. */
  readonly externalId: string | undefined;
  readonly since: number;
  readonly answer: () => void;
  readonly refuse: (error: Error) => void;
}

/** A caller that has looked at an instance and waits for a change of it. */
interface Watcher {
  readonly externalId: string;
  readonly sinceMs: number;
  readonly wake: () => void;
}

/** Who waits for something to be known of instances: questions to be answered, and watchers of single instances. */
export class InstanceWaits {
  readonly #changed: () => void;
  readonly #questions = new Set<Question>();
  readonly #watchers = new Map<string, Set<Watcher>>();

  /** @param changed - called when somebody began to wait or gave up waiting */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** Questions that are not answered yet. */
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

  /** Since when the longest of the present watches has lasted. */
  get oldestMs(): number {
    let oldest = Infinity;
    for (const watchers of this.#watchers.values()) {
      for (const { sinceMs } of watchers) oldest = Math.min(oldest, sinceMs);
    }
    return oldest;
  }

  /** Since when the shortest of the present watches has lasted. */
  get youngestMs(): number {
    let youngest = -Infinity;
    for (const watchers of this.#watchers.values()) {
      for (const { sinceMs } of watchers) youngest = Math.max(youngest, sinceMs);
    }
    return youngest;
  }

  /** Resolves when the question is answered. @throws what `refuse` was given, or the reason of the signal */
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

  /** Resolves when the instance may have changed. @param sinceMs - since when the caller has waited for the instance */
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

  /** Refuses every question. */
  refuseAll(error: Error): void {
    for (const { refuse } of [...this.#questions]) refuse(error);
  }

  #removeWatcher(watcher: Watcher): void {
    const others = this.#watchers.get(watcher.externalId);
    others?.delete(watcher);
    if (others?.size === 0) this.#watchers.delete(watcher.externalId);
  }
}
