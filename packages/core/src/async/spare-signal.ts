/** So many questions share a signal at the most: what they leave listening to it goes with it. */
const MOST_ANSWERS = 100;

/** Signals for questions that are nearly always answered at once: one serves until an answer takes its time. */
export class SpareSignal {
  #spare: AbortController | undefined;
  #answers = 0;

  /**
   * Asks. May throw what `ask` throws.
   * @param follow - called when the answer takes time: aborts the signal when that is due. Returns how to stop.
   */
  ask<T extends boolean | undefined>(
    ask: (signal: AbortSignal) => T | Promise<T>,
    follow: (own: AbortController) => () => void,
  ): T | Promise<T> {
    const own = this.#spare ?? new AbortController();
    this.#spare = undefined;
    const answer = ask(own.signal);
    if (typeof answer === 'object') return Promise.resolve(answer).finally(follow(own)); // of whatever realm or library
    this.#answers = (this.#answers + 1) % MOST_ANSWERS;
    if (this.#answers > 0) this.#spare = own;
    return answer;
  }
}

/**
 * Aborts `own` when `signal` does.
 * @param run - runs the listeners of `own`
 * @returns to be called when `own` is no longer needed
 */
export function followSignal(
  signal: AbortSignal,
  own: AbortController,
  run: (abort: () => void) => void = (abort) => abort(),
): () => void {
  const abort = () => run(() => own.abort(signal.reason));
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return () => signal.removeEventListener('abort', abort);
}
