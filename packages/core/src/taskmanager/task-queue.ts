import type { CancelTimer, Clock } from '@nodepool/zk-protocol';
import { ProviderUnavailableError } from '../errors.js';
import { NEVER_ABORTED } from '../operations/never-aborted.js';
import { orAbort } from '../operations/or-abort.js';
import type { RunnableTask, TaskManager } from './task-manager.js';

/** Longer than any single call of a cloud is meant to take. */
export const DEFAULT_TASK_TIMEOUT_MS = 300_000;
/** What is left when a task manager is stopped has this long to end. */
const STOP_PATIENCE_MS = 60_000;

/** What tasks are run with. */
export interface TaskQueueOptions {
  readonly clock: Clock;
  readonly taskTimeoutMs: number;
  readonly manager: TaskManager;
}

/**
 * Runs tasks one after another. One that hangs is told so by its signal, fails, and is left to itself: the next one runs.
 */
export class TaskQueue {
  readonly #options: TaskQueueOptions;
  readonly #ended = new AbortController();
  #tail: Promise<void> = Promise.resolve();
  #waiting = 0;
  #cancelEnd: CancelTimer | undefined;

  constructor(options: TaskQueueOptions) {
    this.#options = options;
  }

  /** Resolves when the task has ended, one way or the other. Never rejects. */
  add(task: RunnableTask, signal: AbortSignal = NEVER_ABORTED): Promise<void> {
    this.#waiting++;
    const run = this.#tail.then(() => this.#run(task, signal));
    this.#tail = run;
    return run;
  }

  /** What is here may end within a while; then it fails. */
  stop(): void {
    if (this.#waiting === 0 || this.#cancelEnd) return;
    const { clock, manager } = this.#options;
    this.#cancelEnd = clock.setTimer(STOP_PATIENCE_MS, () => {
      const message = `task manager "${manager.name}" was stopped ${STOP_PATIENCE_MS / 1_000} s ago`;
      this.#ended.abort(new ProviderUnavailableError(`${message}: what it still had to do is given up`));
    });
  }

  async #run(task: RunnableTask, signal: AbortSignal): Promise<void> {
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

/** Aborts when the other one does. @returns how to end that */
function follow(abort: AbortController, other: AbortSignal): () => void {
  const onAbort = () => abort.abort(other.reason);
  if (other.aborted) onAbort();
  else other.addEventListener('abort', onAbort, { once: true });
  return () => other.removeEventListener('abort', onAbort);
}
