import { orAbort } from '@nodepool/zk-protocol';
import { NEVER_ABORTED } from '../../async/never-aborted.js';
import type { RunnableTask, TaskManager } from './task-manager.js';

/**
 * A piece of work for a {@link TaskManager}, for drivers written in the older style: one class for each kind of call.
 * New code calls `TaskManager.call`.
 */
export abstract class Task<Args extends object = object, Result = unknown> implements RunnableTask {
  /** For logs and metrics. Default: the name of the class. */
  readonly name: string;
  readonly args: Args;
  readonly #settled: Promise<Result>;
  #resolve: (result: Result) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;

  constructor(args: Args, name?: string) {
    this.args = args;
    this.name = name ?? new.target.name;
    this.#settled = new Promise<Result>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#settled.catch(() => undefined); // `wait` reports it
  }

  /**
   * Does the work. Calls to the cloud belong into `manager.rateLimit`.
   * @param signal - no caller waits for the task any more: it took too long, or was given up. The next task runs
   * already
   */
  abstract main(manager: TaskManager, signal: AbortSignal): Result | Promise<Result>;

  /** Resolves with what `main` returned, or rejects with what it threw. */
  wait(): Promise<Result> {
    return this.#settled;
  }

  /** Called by the task manager. Never rejects. */
  async run(manager: TaskManager, signal: AbortSignal = NEVER_ABORTED): Promise<void> {
    const startedMs = manager.now();
    try {
      const result = await orAbort((async () => this.main(manager, signal))(), signal);
      manager.report(this.name, manager.now() - startedMs);
      this.#resolve(result);
    } catch (error) {
      manager.report(this.name, manager.now() - startedMs, error);
      this.#reject(error);
    }
  }

  /** The task will not be run, or is not waited for any longer. */
  refuse(error: Error): void {
    this.#reject(error);
  }
}
