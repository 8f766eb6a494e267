/** Runs tasks in order, with limited concurrency. */
export class ScanQueue {
  readonly #limit: number;
  readonly #waiting: (() => void)[] = [];
  #active = 0;

  /** @param limit - number of concurrent tasks, default 100 */
  constructor(limit = 100) {
    this.#limit = limit;
  }

  /** Tasks running now. */
  get active(): number {
    return this.#active;
  }

  /** Waiting tasks. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /**
   * Queues a task; resolves and rejects as the task does.
   * @param signal - an abort removes a waiting task and rejects with the signal's reason
   */
  async run<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.#active >= this.#limit) await this.#turn(signal);
    else this.#active += 1;
    try {
      signal?.throwIfAborted();
      return await task();
    } finally {
      const next = this.#waiting.shift();
      // The slot is handed over, not freed, so that no other task can take it in between.
      if (next) next();
      else this.#active -= 1;
    }
  }

  #turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      const onAbort = () => {
        this.#waiting.splice(this.#waiting.indexOf(begin), 1);
        reject(signal?.reason as Error);
      };
      if (signal?.aborted) {
        reject(signal.reason as Error);
        return;
      }
      this.#waiting.push(begin);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }
}
