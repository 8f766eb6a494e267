import { backoffMs, type BackoffOptions, type CancelTimer, type Clock } from '@nodepool/zk-protocol';

/** How a value is fetched and kept. */
export interface RefreshedOptions<T> {
  readonly clock: Clock;
  fetch(signal: AbortSignal): Promise<T>;
  /** A fetch has ended; also called after failures, with the error. */
  onFetched(error?: unknown): void;
  /** How long a value is used before it is fetched again; `undefined`: always. */
  readonly lifeMs: number | undefined;
  /** When a fetch that failed is tried again. */
  readonly retry: BackoffOptions;
  /** Number in [0, 1). */
  readonly random: () => number;
}

/**
 * A cached value that is fetched in the background: again when it is old and has been used, and with back-off after failures. The
 * old value stays until there is a new one.
 */
export class Refreshed<T> {
  readonly #options: RefreshedOptions<T>;
  readonly #stop = new AbortController();
  #value: T | undefined;
  #failures = 0;
  #fetching = false;
  #again = false;
  #cancel: CancelTimer | undefined;
  #asked = false;
  /** The value is old, and has not been used lately. */
  #old = false;
  #settled = false;

  constructor(options: RefreshedOptions<T>) {
    this.#options = options;
  }

  /** The last value; `undefined`: none yet. */
  get value(): T | undefined {
    this.#asked = true;
    if (this.#old) this.refresh();
    return this.#value;
  }

  /** True after the first fetch, successful or not. */
  get settled(): boolean {
    return this.#settled;
  }

  /**
   * Fetches the value; a running fetch is repeated.
   * @param afterMs - delay
   */
  refresh(afterMs = 0): void {
    if (this.#stop.signal.aborted) return;
    if (this.#fetching) {
      this.#again = true;
      return;
    }
    this.#setTimer(afterMs);
  }

  /** Ends all fetching. */
  stop(): void {
    this.#stop.abort(new Error('the provider stops'));
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #setTimer(ms: number): void {
    this.#cancel?.();
    this.#cancel = undefined;
    if (ms <= 0) void this.#fetch();
    else {
      this.#cancel = this.#options.clock.setTimer(ms, () => {
        this.#cancel = undefined;
        void this.#fetch();
      });
    }
  }

  async #fetch(): Promise<void> {
    const { signal } = this.#stop;
    this.#fetching = true;
    this.#asked = false;
    this.#again = false;
    this.#old = false;
    let failure: { readonly error: unknown } | undefined;
    try {
      this.#value = await this.#options.fetch(signal);
    } catch (error) {
      failure = { error };
    }
    this.#fetching = false;
    if (signal.aborted) return;
    this.#settled = true;
    this.#failures = failure ? this.#failures + 1 : 0;
    this.#planNext();
    this.#options.onFetched(failure?.error);
  }

  #planNext(): void {
    const { retry, lifeMs, random, clock } = this.#options;
    if (this.#failures > 0) {
      this.#setTimer(backoffMs(this.#failures - 1, retry, random));
    } else if (this.#again) {
      this.#setTimer(0);
    } else if (lifeMs !== undefined) {
      this.#cancel = clock.setTimer(lifeMs, () => {
        this.#cancel = undefined;
        if (this.#asked) void this.#fetch();
        else this.#old = true;
      });
    }
  }
}
