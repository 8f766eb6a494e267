import { setMaxListeners } from 'node:events';
import { steadyNow, type Clock } from '@nodepool/zk-protocol';

const NEVER_ENDING = new AbortController().signal;
setMaxListeners(0, NEVER_ENDING);

/**
 * Cache for a value of the cloud that rarely changes: read at first use, kept until it is flushed or expires. Concurrent
 * callers share one call; errors are not cached.
 */
export class Cached<T> {
  readonly #fetch: (signal: AbortSignal) => Promise<T>;
  readonly #clock: Clock;
  readonly #lifeMs: number;
  #value: { readonly value: Promise<T>; readonly sinceMs: number } | undefined;

  constructor(clock: Clock, lifeMs: number, fetch: (signal: AbortSignal) => Promise<T>) {
    this.#clock = clock;
    this.#lifeMs = lifeMs;
    this.#fetch = fetch;
  }

  /** The value. The call has its own deadline, so it needs no signal. */
  get(): Promise<T> {
    const known = this.#value;
    if (known && steadyNow(this.#clock) - known.sinceMs < this.#lifeMs) return known.value;
    const value = this.#fetch(NEVER_ENDING);
    const entry = { value, sinceMs: steadyNow(this.#clock) };
    this.#value = entry;
    value.catch(() => {
      if (this.#value === entry) this.#value = undefined;
    });
    return value;
  }

  /**
   * Drops the value.
   * @param olderThanMs - minimum age
   * @returns whether it was dropped
   */
  flush(olderThanMs = 0): boolean {
    if (!this.#value || steadyNow(this.#clock) - this.#value.sinceMs < olderThanMs) return false;
    this.#value = undefined;
    return true;
  }
}
