import type { LeaseCalls, Patience } from './calls.js';
import { LeaseOverError, RefusedError, UnreachableError } from './errors.js';
import { after, nowMs, pause } from './pause.js';
import { watchSleep } from './sleep.js';
import type { LeasedNode, LeaseInfo } from './types.js';

/** A lease is renewed three times in its time to live, so that two renewals may fail. */
const RENEWALS = 3;
/** A certificate that the server gives is valid for five minutes at least, unless the lease ends. */
const CERTIFICATE_MS = 240_000;
/** How long one renewal is repeated before the lease is looked at again. */
const RENEWAL_MS = 15_000;
/** Pause after a renewal that the server did not answer. */
const UNREACHABLE_PAUSE_MS = 1_000;
/** Pause before an event stream is opened again. */
const REOPEN_MS = 10_000;
/** How long the server may take to confirm a lease after this computer has slept. */
const CONFIRM_MS = 5_000;
/** How long the server may take to end a lease by itself. */
const RELEASE_MS = 10_000;

/** How a lease is kept. */
export interface KeepOptions {
  /** Renew it for {@link ttlMs} again and again. */
  readonly renew: boolean;
  readonly ttlMs: number;
  /** Called when the server refuses a renewal: the lease will expire. */
  readonly onRefused: (error: Error) => void;
  /** Called after each renewal. */
  readonly onRenewed: (info: LeaseInfo) => void;
}

/**
 * Nodes that are yours until {@link release}, or until they are {@link lost}. Also ends with `await using`.
 */
export class Lease {
  readonly id: string;
  /** In the order of the labels asked for. */
  readonly nodes: readonly LeasedNode[];
  readonly #calls: LeaseCalls;
  readonly #options: KeepOptions;
  readonly #lost = new AbortController();
  readonly #stopped = new AbortController();
  #info: LeaseInfo;
  #expiresMs: number;
  #cancelTimers: () => void = () => {};
  /** The last renewal: each waits for the answer to the one before, as one that overtakes it could shorten the lease. */
  #renewal: Promise<void> = Promise.resolve();
  /** Why it was not renewed last time. */
  #failure: Error | undefined;
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
    this.#options = options;
    this.#expiresMs = askedMs + options.ttlMs;
    this.#plan();
    if (options.renew) void this.#watch();
    void watchSleep((sleptMs) => void this.#confirm(sleptMs), this.#stopped.signal);
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
    await this.#inTurn(() => this.#renew(ttlMs));
    this.#plan();
  }

  /**
   * Renews it for the last time, and leaves it to itself: the nodes stay yours for this time, also after the end of the process.
   * `client.release(id)` returns them earlier.
   * @throws NodepoolClientError
   */
  leave(ttlMs: number): Promise<void> {
    return this.#inTurn(async () => {
      await this.#renew(ttlMs);
      this.#stop();
      this.#released = Promise.resolve();
    });
  }

  /** Returns the nodes. May be called again; a lease that is over already is no error. @throws NodepoolClientError */
  release(): Promise<void> {
    this.#stop();
    this.#released ??= this.#release();
    return this.#released;
  }

  /** For `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  async #release(): Promise<void> {
    if (!this.lost.aborted) await this.#return();
  }

  async #return(): Promise<void> {
    try {
      this.#info = await this.#calls.end(this.id, { retryMs: RELEASE_MS });
    } catch (error) {
      if (!(error instanceof RefusedError && error.status === 404)) throw error;
    }
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#renewal.then(work);
    this.#renewal = done.catch(() => undefined);
    return done;
  }

  async #renew(ttlMs: number, patience?: Patience): Promise<void> {
    const askedMs = nowMs();
    this.#info = await this.#calls.renew(this.id, ttlMs, patience);
    this.#expiresMs = askedMs + ttlMs;
    this.#failure = undefined;
    this.#options.onRenewed(this.#info);
  }

  /**
   * Plans the next automatic renewal, and the end.
   * @param leastMs - pause before the renewal
   */
  #plan(leastMs = 0): void {
    this.#cancelTimers();
    if (this.#stopped.signal.aborted) return;
    const { renew, ttlMs } = this.#options;
    const leftMs = this.#expiresMs - nowMs();
    const renewal = renew && after(Math.max(leastMs, leftMs - ttlMs + this.#pauseMs), () => void this.#keep());
    const expiry = after(leftMs, () => this.#expire());
    this.#cancelTimers = () => {
      if (renewal) renewal();
      expiry();
    };
  }

  /** Between renewals, which bring fresh certificates. */
  get #pauseMs(): number {
    const pauseMs = this.#options.ttlMs / RENEWALS;
    return this.#info.nodes.some(({ certificate }) => certificate !== null)
      ? Math.min(pauseMs, CERTIFICATE_MS)
      : pauseMs;
  }

  /** Renews the lease if it is due. Does not fail. */
  #keep(): Promise<void> {
    return this.#inTurn(async () => {
      const leftMs = this.#expiresMs - nowMs();
      const { ttlMs } = this.#options;
      let pauseMs = 0;
      // another renewal came first if more time is left
      if (leftMs > 0 && leftMs < ttlMs) pauseMs = await this.#renewOnce(leftMs);
      this.#plan(pauseMs);
    });
  }

  /** @returns how long to wait before it is tried again */
  async #renewOnce(leftMs: number): Promise<number> {
    const { signal } = this.#stopped;
    const { ttlMs, onRefused } = this.#options;
    try {
      await this.#renew(ttlMs, { signal, retryMs: Math.min(leftMs, RENEWAL_MS) });
      return 0;
    } catch (error) {
      if (signal.aborted) return 0;
      this.#failure = error as Error;
      if (error instanceof UnreachableError && !error.isPermanent) return UNREACHABLE_PAUSE_MS;
      if (error instanceof RefusedError && (error.status === 404 || error.code === 'over')) {
        this.#lose(error.message, error);
        // it may be over because one of its nodes is gone: the others would be leased without use until its time is over
        if (error.code === 'over') this.#released ??= this.#return().catch(() => undefined);
      } else onRefused(error as Error);
      return ttlMs / RENEWALS;
    }
  }

  #expire(): void {
    const { renew } = this.#options;
    const why = this.#failure?.message ?? (renew ? 'this process was stopped, or its computer slept' : undefined);
    this.#lose(`it was not renewed in time${why === undefined ? '' : `: ${why}`}`, this.#failure);
  }

  /** Timers stood still while this computer slept, or the time was set: the server knows whether the lease is over. */
  async #confirm(sleptMs: number): Promise<void> {
    const { signal } = this.#stopped;
    const mayBeOver = this.#expiresMs - sleptMs <= nowMs();
    try {
      const { state, endReason } = (this.#info = await this.#calls.get(this.id, { signal, retryMs: CONFIRM_MS }));
      if (state !== 'active') this.#lose(endReason ?? `it is ${state}`);
      else if (this.#options.renew) void this.#keep();
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof RefusedError && error.status === 404) return this.#lose(error.message, error);
      if (mayBeOver) {
        const why = error instanceof Error ? error.message : String(error);
        return this.#lose(
          `its time was over when this computer woke up, and the server did not say otherwise: ${why}`,
          error,
        );
      }
      this.#expiresMs -= sleptMs;
      this.#plan();
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
    this.#stop();
  }

  /** It is not renewed or watched any more. */
  #stop(): void {
    this.#stopped.abort();
    this.#cancelTimers();
  }
}
