interface SharedCall {
  readonly result: Promise<unknown>;
  readonly abort: AbortController;
  callers: number;
}

/**
 * Lets callers share a call that has not started. For each name at most one call runs and one waits. A call without callers is
 * aborted.
 */
export class SharedCalls {
  readonly #waiting = new Map<string, SharedCall>();
  readonly #last = new Map<string, Promise<unknown>>();

  /**
   * Joins the waiting call of this name, or queues one.
   * @param start - makes the call; must call `begin` when callers can no longer join
   */
  async join<T>(
    name: string,
    start: (signal: AbortSignal, begin: () => void) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    signal?.throwIfAborted();
    const call = this.#waiting.get(name) ?? this.#start(name, start);
    call.callers++;
    return this.#wait<T>(call, signal);
  }

  #start<T>(name: string, start: (signal: AbortSignal, begin: () => void) => Promise<T>): SharedCall {
    const abort = new AbortController();
    const begin = () => {
      if (this.#waiting.get(name) === call) this.#waiting.delete(name);
    };
    const before = this.#last.get(name) ?? Promise.resolve();
    const result = before
      .catch(() => undefined) // its own callers get the error
      .then(() => start(abort.signal, begin))
      .finally(() => {
        begin();
        if (this.#last.get(name) === result) this.#last.delete(name);
      });
    result.catch(() => undefined); // reported to each caller
    const call: SharedCall = { callers: 0, abort, result };
    this.#waiting.set(name, call);
    this.#last.set(name, result);
    return call;
  }

  #wait<T>(call: SharedCall, signal: AbortSignal | undefined): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const leave = () => {
        signal?.removeEventListener('abort', onAbort);
        call.callers--;
      };
      const onAbort = () => {
        leave();
        if (call.callers === 0) call.abort.abort(signal?.reason);
        reject(signal?.reason as Error);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      call.result.then(
        (result) => {
          leave();
          resolve(result as T);
        },
        (error: Error) => {
          leave();
          reject(error);
        },
      );
    });
  }
}
