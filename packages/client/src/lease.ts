import type { LeaseCalls } from './calls.js';
import { LeaseOverError, RefusedError } from './errors.js';
import { nowMs, pause } from './pause.js';
import type { LeasedNode, LeaseInfo } from './types.js';

/** A lease is renewed three times in its time to live, so that two renewals may fail. */
const RENEWALS = 3;
/** Pause before an event stream is opened again. */
const REOPEN_MS = 10_000;
/** How long the server may take to end a lease by itself. */
const RELEASE_MS = 10_000;

/** How a lease is kept. */
export interface KeepOptions {
  /** Renew it for {@link ttlMs} again and again. */
  readonly renew: boolean;
  readonly ttlMs: number;
  /** Called when the server refuses a renewal: the lease will expire. */
  readonly onRefused: (error: Error) => void;
}

/**
 * Nodes that are yours until {@link release}, or until they are {@link lost}. Also ends with `await using`.
 */
export class Lease {
  readonly id: string;
  /** In the order of the labels asked for. */
  readonly nodes: readonly LeasedNode[];
  readonly #calls: LeaseCalls;
  readonly #ttlMs: number;
  readonly #onRefused: (error: Error) => void;
  readonly #lost = new AbortController();
  readonly #stopped = new AbortController();
  #info: LeaseInfo;
  #expiresMs: number;
  #released: Promise<void> | undefined;

  /**
   * @param info - of the active lease
   * @param askedMs - when it was asked for, by {@link nowMs}: its time to live has begun later
   */
  constructor(calls: LeaseCalls, info: LeaseInfo, askedMs: number, options: KeepOptions) {
    this.id = info.id;
    this.nodes = info.nodes;
    this.#calls = calls;
    this.#info = info;
    this.#ttlMs = options.ttlMs;
    this.#onRefused = options.onRefused;
    this.#expiresMs = askedMs + options.ttlMs;
    void this.#keep(options.renew);
    if (options.renew) void this.#watch();
  }

  /** The lease as the server described it last. */
  get info(): LeaseInfo {
    return this.#info;
  }

  /** Aborts with a {@link LeaseOverError} when the nodes are no longer yours: stop using them at once. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Keeps the nodes for this time from now. @throws NodepoolClientError */
  async renew(ttlMs: number): Promise<void> {
    const askedMs = nowMs();
    this.#info = await this.#calls.renew(this.id, ttlMs);
    this.#expiresMs = askedMs + ttlMs;
  }

  /**
   * Renews it for the last time, and leaves it to itself: the nodes stay yours for this time, also after the end of the process.
   * `client.release(id)` returns them earlier.
   * @throws NodepoolClientError
   */
  async leave(ttlMs: number): Promise<void> {
    await this.renew(ttlMs);
    this.#stopped.abort();
    this.#released = Promise.resolve();
  }

  /** Returns the nodes. May be called again; a lease that is over already is no error. @throws NodepoolClientError */
  release(): Promise<void> {
    this.#stopped.abort();
    this.#released ??= this.#release();
    return this.#released;
  }

  /** For `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  async #release(): Promise<void> {
    if (this.lost.aborted) return;
    try {
      this.#info = await this.#calls.end(this.id, { retryMs: RELEASE_MS });
    } catch (error) {
      if (!(error instanceof RefusedError && error.status === 404)) throw error;
    }
  }

  /** Renews the lease, if it should, and finds out when it has expired. */
  async #keep(renews: boolean): Promise<void> {
    const { signal } = this.#stopped;
    let refused: unknown;
    try {
      for (;;) {
        const leftMs = this.#expiresMs - nowMs();
        if (leftMs <= 0) break;
        await pause(renews ? Math.min(leftMs, this.#ttlMs / RENEWALS) : leftMs, signal, false);
        if (renews) refused = await this.#renewOnce(signal);
      }
    } catch {
      return; // it was released, left or lost
    }
    const why = refused instanceof Error ? `: ${refused.message}` : '';
    this.#lose(`it was not renewed in time${why}`, refused);
  }

  /** @returns why it was not renewed. @throws the signal's reason */
  async #renewOnce(signal: AbortSignal): Promise<unknown> {
    const askedMs = nowMs();
    try {
      this.#info = await this.#calls.renew(this.id, this.#ttlMs, { signal, retryMs: this.#expiresMs - askedMs });
      this.#expiresMs = Math.max(this.#expiresMs, askedMs + this.#ttlMs);
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof RefusedError && (error.status === 404 || error.code === 'over')) {
        this.#lose(error.message, error);
      } else this.#onRefused(error as Error);
      return error;
    }
  }

  /** Learns at once that the lease is over, while the server can be reached. */
  async #watch(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      try {
        for await (const info of this.#calls.events(this.id, signal)) {
          this.#info = info;
          if (info.state !== 'active') this.#lose(info.endReason ?? `it is ${info.state}`);
        }
      } catch {
        // the next renewal says what is wrong
      }
      await pause(REOPEN_MS, signal, false).catch(() => undefined);
    }
  }

  #lose(why: string, cause?: unknown): void {
    if (this.#stopped.signal.aborted) return;
    this.#lost.abort(new LeaseOverError('lease-lost', this.id, `Lease ${this.id} is lost: ${why}`, { cause }));
    this.#stopped.abort();
  }
}
