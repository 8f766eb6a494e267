import { orAbort, type CancelTimer, type Clock } from '@nodepool/zk-protocol';
import { ProviderUnavailableError } from '../../contract/errors.js';
import { NEVER_ABORTED } from '../../async/never-aborted.js';

/** Longer than any call to a cloud should take. */
export const DEFAULT_TASK_TIMEOUT_MS = 300_000;
/** Time that remaining tasks get after a stop. */
const STOP_PATIENCE_MS = 60_000;

/** A task in a queue. `Manager` is its argument. */
export interface QueuedTask<Manager> {
  /** For messages, and for pauses. */
  readonly name?: string | undefined;
  /** The signal is aborted when no caller waits for the task any more. */
  run(manager: Manager, signal: AbortSignal): Promise<void>;
  /** Called if the task is not run, or no longer awaited. */
  refuse(error: Error): void;
}

/** Options of a task queue. */
export interface TaskQueueOptions<Manager> {
  readonly clock: Clock;
  readonly taskTimeoutMs: number;
  readonly manager: Manager;
  /** For how long tasks of this name must not be started; others overtake them. */
  readonly pauseMs: (name: string) => number;
}

interface Entry<Manager> {
  readonly task: QueuedTask<Manager>;
  /** Aborted by the caller, the time limit or the end of the queue. */
  readonly abort: AbortController;
  readonly ended: () => void;
}

/**
 * Runs tasks one after another. A task that exceeds its time limit is aborted through its signal and fails; the next one runs.
 */
export class TaskQueue<Manager extends { readonly name: string }> {
  readonly #options: TaskQueueOptions<Manager>;
  readonly #waiting = new Set<Entry<Manager>>();
  #running: Entry<Manager> | undefined;
  #cancelEnd: CancelTimer | undefined;
  #cancelPause: CancelTimer | undefined;

  constructor(options: TaskQueueOptions<Manager>) {
    this.#options = options;
  }

  /** Name of the task that runs. */
  get running(): string | undefined {
    return this.#running?.task.name;
  }

  /** Resolves when the task has ended or failed. Never rejects. */
  add(task: QueuedTask<Manager>, signal: AbortSignal = NEVER_ABORTED): Promise<void> {
    const abort = new AbortController();
    const onAbort = () => abort.abort(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    return new Promise<void>((resolve) => {
      const ended = () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      const entry: Entry<Manager> = { task, abort, ended };
      this.#waiting.add(entry);
      const drop = () => this.#drop(entry);
      if (abort.signal.aborted) drop();
      else abort.signal.addEventListener('abort', drop, { once: true });
      this.#next();
    });
  }

  /** Lets remaining tasks finish for a limited time; then they fail. */
  stop(): void {
    if (this.#isIdle || this.#cancelEnd) return;
    const { clock, manager } = this.#options;
    this.#cancelEnd = clock.setTimer(STOP_PATIENCE_MS, () => {
      const message = `task manager "${manager.name}" was stopped ${STOP_PATIENCE_MS / 1_000} s ago`;
      const error = new ProviderUnavailableError(`${message}: what it still had to do is given up`);
      for (const { abort } of [...this.#waiting]) abort.abort(error);
      this.#running?.abort.abort(error);
    });
  }

  get #isIdle(): boolean {
    return this.#waiting.size === 0 && !this.#running;
  }

  /** Starts the first task that may be started. */
  #next(): void {
    this.#cancelPause?.();
    this.#cancelPause = undefined;
    if (this.#running) return;
    if (this.#isIdle) this.#cancelEnd?.();
    const { clock, pauseMs } = this.#options;
    let pausedMs = Infinity;
    for (const entry of this.#waiting) {
      const leftMs = pauseMs(entry.task.name ?? '');
      pausedMs = Math.min(pausedMs, leftMs);
      if (leftMs > 0) continue;
      this.#waiting.delete(entry);
      this.#running = entry;
      void this.#run(entry);
      return;
    }
    if (pausedMs < Infinity) this.#cancelPause = clock.setTimer(pausedMs, () => this.#next());
  }

  /** A waiting task that no caller wants any more. */
  #drop(entry: Entry<Manager>): void {
    if (!this.#waiting.delete(entry)) return;
    refuse(entry.task, entry.abort.signal.reason);
    entry.ended();
    this.#next();
  }

  async #run({ task, abort, ended }: Entry<Manager>): Promise<void> {
    const { manager, clock, taskTimeoutMs } = this.#options;
    const late = `${task.name ?? 'a task'} of "${manager.name}" has not ended within ${taskTimeoutMs / 1_000} s`;
    const cancel = clock.setTimer(taskTimeoutMs, () =>
      abort.abort(new ProviderUnavailableError(`${late}; it may have taken effect, and is left to itself`)),
    );
    try {
      await orAbort(task.run(manager, abort.signal), abort.signal);
    } catch (error) {
      refuse(task, error);
    } finally {
      cancel();
      ended();
      this.#running = undefined;
      this.#next();
    }
  }
}

function refuse(task: QueuedTask<never>, error: unknown): void {
  task.refuse(error instanceof Error ? error : new Error(String(error)));
}
