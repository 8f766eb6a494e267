import { setMaxListeners } from 'node:events';

/** An abort controller that makes its signal on first use, as most work ends without one. */
export class LazyAbort {
  #controller: AbortController | undefined;
  #cause: Error | undefined;

  /** Reason of the abort; `undefined`: not aborted. */
  get cause(): Error | undefined {
    return this.#cause;
  }

  /** Has no limit of listeners. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      setMaxListeners(0, this.#controller.signal);
      if (this.#cause) this.#controller.abort(this.#cause);
    }
    return this.#controller.signal;
  }

  /** Notes the cause without firing a signal that was handed out: nothing listens any more. */
  end(cause: Error): void {
    this.#cause ??= cause;
  }

  /** Only the first cause counts. */
  abort(cause: Error): void {
    this.#cause ??= cause;
    this.#controller?.abort(cause);
  }
}
