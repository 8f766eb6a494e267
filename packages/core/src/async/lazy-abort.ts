import { setMaxListeners } from 'node:events';

/** An abort controller whose signal is made when it is first asked for: most work ends before anybody does. */
export class LazyAbort {
  #controller: AbortController | undefined;
  #cause: Error | undefined;

  /** Why it was aborted; `undefined`: it was not. */
  get cause(): Error | undefined {
    return this.#cause;
  }

  /** Any number may listen to it. */
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
