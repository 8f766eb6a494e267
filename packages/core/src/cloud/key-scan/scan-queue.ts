/** Runs tasks first come, first served, at most so many at a time. */
export class ScanQueue {
  readonly #limit: number;
  readonly #waiting: (() => void)[] = [];
  #active = 0;

  /** @param limit - tasks running at the same time, default 100 */
  constructor(limit = 100) {
    this.#limit = limit;
  }

  /** Tasks running now. */
  get active(): number {
    return this.#active;
  }

  /** Tasks that have not begun. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /**
   * Runs the task when its turn comes; resolves and rejects as the task does.
   * @param signal - an abort before the turn takes the task out of the queue and rejects with the signal's reason
   */
  async run<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.#active >= this.#limit) await this.#turn(signal);
    else this.#active += 1;
    try {
      signal?.throwIfAborted();
      return await task();
    } finally {
      const next = this.#waiting.shift();
      // The place is handed over, not freed, so that no other task can slip in between.
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
