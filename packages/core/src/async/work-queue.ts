import { backoffMs, steadyNow, type BackoffOptions, type CancelTimer, type Clock } from '@nodepool/zk-protocol';

/** The longest time a timer can wait; a key that is due later is looked at again then. */
const LONGEST_WAIT_MS = 2 ** 30;

/** What is to be done about a key. */
export interface Step {
  readonly run: () => Promise<unknown>;
  /** Not before so many milliseconds have passed: the key is looked at again then. Default: at once. */
  readonly afterMs?: number | undefined;
}

/** Brings one thing after another to the state that it should be in. */
export interface Reconciler<Key> {
  /** Looks at everything about the key; cheap, as each change leads here. `undefined`: there is nothing to do. */
  decide(key: Key): Step | undefined;
  /** A step has failed. @returns the pauses before the key is looked at again; `undefined`: a change leads back to it */
  failed(key: Key, error: unknown): BackoffOptions | undefined;
}

/** What a queue uses. */
export interface QueueContext {
  readonly clock: Clock;
  /** Returns a random number in [0, 1). */
  readonly random: () => number;
}

interface Entry {
  isRunning: boolean;
  /** The key changed while its step was running. */
  isChanged: boolean;
  /** The key was forgotten while its step was running. */
  isForgotten: boolean;
  failures: number;
  /** The end of the pause after a failure, in steady time; `undefined`: none. */
  pauseEndMs: number | undefined;
  /** Looks at the key again. */
  cancel: CancelTimer | undefined;
}

/**
 * Keys that something may have to be done about. Whatever changes adds the key; what is due is decided from the present state of
 * everything about it, so it does not matter which change was missed. One step of a key runs at a time; the key is looked at again if
 * it was added meanwhile, and after growing pauses if the step failed.
 */
export class WorkQueue<Key> {
  readonly #context: QueueContext;
  readonly #reconciler: Reconciler<Key>;
  readonly #entries = new Map<Key, Entry>();
  readonly #running = new Map<Key, Promise<void>>();
  #hasEnded = false;

  constructor(context: QueueContext, reconciler: Reconciler<Key>) {
    this.#context = context;
    this.#reconciler = reconciler;
  }

  /** Keys whose step is running. */
  get running(): readonly Key[] {
    return [...this.#running.keys()];
  }

  /** Looks at the key: now, or when its step or the pause after a failure has ended. @returns whether a step begins */
  add(key: Key): boolean {
    const known = this.#entries.get(key);
    if (known?.isRunning) known.isChanged = true;
    if (this.#hasEnded || known?.isRunning || known?.pauseEndMs !== undefined) return false;
    const step = this.#reconciler.decide(key);
    known?.cancel?.();
    if (!step) {
      if (known?.failures === 0) this.#entries.delete(key);
      return false;
    }
    const entry = known ?? this.#newEntry(key);
    const { afterMs = 0 } = step;
    if (afterMs > 0) {
      entry.cancel = this.#context.clock.setTimer(Math.min(afterMs, LONGEST_WAIT_MS), () => this.add(key));
      return false;
    }
    const run = this.#run(key, entry, step);
    this.#running.set(key, run);
    return true;
  }

  /** Looks at the key although it is pausing. */
  addNow(key: Key): boolean {
    this.#endPause(this.#entries.get(key));
    return this.add(key);
  }

  /** How often a step of the key has failed in a row, and for how long it pauses. */
  failuresOf(key: Key): { readonly failures: number; readonly pauseMs: number | undefined } {
    const { failures = 0, pauseEndMs } = this.#entries.get(key) ?? {};
    const leftMs = pauseEndMs === undefined ? undefined : Math.max(0, pauseEndMs - steadyNow(this.#context.clock));
    return { failures, pauseMs: leftMs };
  }

  /** Nothing is left to do about the key, whose next pause is a first one. */
  forget(key: Key): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#endPause(entry);
    if (entry.isRunning) entry.isForgotten = true;
    else this.#entries.delete(key);
  }

  /** Begins no more steps. Resolves when those that are running have ended. */
  async stop(): Promise<void> {
    this.#hasEnded = true;
    for (const entry of this.#entries.values()) this.#endPause(entry);
    await Promise.all(this.#running.values());
  }

  #newEntry(key: Key): Entry {
    const flags = { isRunning: false, isChanged: false, isForgotten: false };
    const entry = { ...flags, failures: 0, pauseEndMs: undefined, cancel: undefined };
    this.#entries.set(key, entry);
    return entry;
  }

  #endPause(entry: Entry | undefined): void {
    if (!entry) return;
    entry.cancel?.();
    entry.cancel = undefined;
    entry.pauseEndMs = undefined;
  }

  async #run(key: Key, entry: Entry, { run }: Step): Promise<void> {
    entry.isRunning = true;
    let failure: { readonly error: unknown } | undefined;
    try {
      await run();
    } catch (error) {
      failure = { error };
    }
    entry.isRunning = false;
    this.#running.delete(key);
    const limits = failure && this.#reconciler.failed(key, failure.error);
    if (limits && !entry.isForgotten && !this.#hasEnded) this.#pause(key, entry, limits);
    else this.#entries.delete(key);
    const { isChanged } = entry;
    entry.isChanged = false;
    if (isChanged) this.add(key);
  }

  #pause(key: Key, entry: Entry, limits: BackoffOptions): void {
    const { clock, random } = this.#context;
    const pauseMs = backoffMs(entry.failures++, limits, random);
    entry.pauseEndMs = steadyNow(clock) + pauseMs;
    entry.cancel = clock.setTimer(pauseMs, () => {
      this.#endPause(entry);
      this.add(key);
    });
  }
}
