/** A set of running tasks that can be awaited. */
export class TaskSet {
  readonly #running = new Set<Promise<unknown>>();

  /** Adds a task until it ends. */
  track<T>(work: Promise<T>): Promise<T> {
    const run = work.finally(() => this.#running.delete(run));
    this.#running.add(run);
    return run;
  }

  get size(): number {
    return this.#running.size;
  }

  /** Resolves when no task runs, including tasks that start meanwhile. Rejects with the first failure. */
  async ended(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
