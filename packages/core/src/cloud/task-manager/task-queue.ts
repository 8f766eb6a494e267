import { orAbort, type CancelTimer, type Clock } from '@nodepool/zk-protocol';
import { ProviderUnavailableError } from '../../contract/errors.js';
import { NEVER_ABORTED } from '../../async/never-aborted.js';

/** Longer than any call to a cloud should take. */
export const DEFAULT_TASK_TIMEOUT_MS = 300_000;
/** Time that remaining tasks get after a stop. */
const STOP_PATIENCE_MS = 60_000;

/** A task in a queue. `Manager` is its argument. */
export interface QueuedTask<Manager> {
  /** For messages. */
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
}

/**
 * Runs tasks one after another. A task that exceeds its time limit is aborted through its signal and fails; the next one runs.
 */
export class TaskQueue<Manager extends { readonly name: string }> {
  readonly #options: TaskQueueOptions<Manager>;
  readonly #ended = new AbortController();
  #tail: Promise<void> = Promise.resolve();
  #waiting = 0;
  #cancelEnd: CancelTimer | undefined;

  constructor(options: TaskQueueOptions<Manager>) {
    this.#options = options;
  }

  /** Resolves when the task has ended or failed. Never rejects. */
  add(task: QueuedTask<Manager>, signal: AbortSignal = NEVER_ABORTED): Promise<void> {
    this.#waiting++;
    const run = this.#tail.then(() => this.#run(task, signal));
    this.#tail = run;
    return run;
  }

  /** Lets remaining tasks finish for a limited time; then they fail. */
  stop(): void {
    if (this.#waiting === 0 || this.#cancelEnd) return;
    const { clock, manager } = this.#options;
    this.#cancelEnd = clock.setTimer(STOP_PATIENCE_MS, () => {
      const message = `task manager "${manager.name}" was stopped ${STOP_PATIENCE_MS / 1_000} s ago`;
      this.#ended.abort(new ProviderUnavailableError(`${message}: what it still had to do is given up`));
    });
  }

  async #run(task: QueuedTask<Manager>, signal: AbortSignal): Promise<void> {
    const { manager, clock, taskTimeoutMs } = this.#options;
    const abort = new AbortController();
    const late = `${task.name ?? 'a task'} of "${manager.name}" has not ended within ${taskTimeoutMs / 1_000} s`;
    const cancel = clock.setTimer(taskTimeoutMs, () =>
      abort.abort(new ProviderUnavailableError(`${late}; it may have taken effect, and is left to itself`)),
    );
    const stopFollowing = [signal, this.#ended.signal].map((other) => follow(abort, other));
    try {
      abort.signal.throwIfAborted();
      await orAbort(task.run(manager, abort.signal), abort.signal);
    } catch (error) {
      task.refuse(error instanceof Error ? error : new Error(String(error)));
    } finally {
      cancel();
      for (const stop of stopFollowing) stop();
      if (--this.#waiting === 0) this.#cancelEnd?.();
    }
  }
}

/** Aborts with another signal. @returns a function that ends the link */
function follow(abort: AbortController, other: AbortSignal): () => void {
  const onAbort = () => abort.abort(other.reason);
  if (other.aborted) onAbort();
  else other.addEventListener('abort', onAbort, { once: true });
  return () => other.removeEventListener('abort', onAbort);
}
