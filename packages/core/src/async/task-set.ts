/** Work under way that will be waited for. */
export class TaskSet {
  readonly #running = new Set<Promise<unknown>>();

  /** Counts the work until it has ended. */
  track<T>(work: Promise<T>): Promise<T> {
    const run = work.finally(() => this.#running.delete(run));
    this.#running.add(run);
    return run;
  }

  get size(): number {
    return this.#running.size;
  }

  /** Resolves when nothing is under way, also of what began meanwhile. Rejects as the first that fails. */
  async ended(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
