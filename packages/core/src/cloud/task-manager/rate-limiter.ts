import { delay, type Clock } from '@nodepool/zk-protocol';

/** Options of a rate limiter. */
export interface RateLimiterOptions {
  readonly clock: Clock;
  /** `undefined` or `0`: no limit until the cloud refuses calls. */
  readonly requestsPerSecond?: number | undefined;
  /** Whether the interval starts with the start or the end of the previous call. Default: start. */
  readonly measuredFrom?: 'start' | 'end' | undefined;
  /** Number in [0, 1) that spreads pauses. */
  readonly random?: (() => number) | undefined;
}

const FIRST_SPACING_MS = 50;
const LONGEST_SPACING_MS = 10_000;
const NO_RETRY_AFTER_MS = 1_000;
/** Factor by which each successful call shortens the interval after a refusal. */
const RECOVERY = 0.9;

/**
 * Spaces calls in their order. A refusal by the cloud doubles the interval, once for all calls running at the time; each success
 * reduces it towards the configured one.
 */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #baseMs: number;
  readonly #fromEnd: boolean;
  #spacingMs: number;
  #nextMs = -Infinity;
  #tail: Promise<void> | undefined;

  constructor(options: RateLimiterOptions) {
    const { requestsPerSecond: rate } = options;
    this.#clock = options.clock;
    this.#random = options.random ?? Math.random;
    this.#baseMs = rate !== undefined && rate > 0 ? 1000 / rate : 0;
    this.#spacingMs = this.#baseMs;
    this.#fromEnd = options.measuredFrom === 'end';
  }

  /** Present interval between calls in milliseconds. */
  get spacingMs(): number {
    return this.#spacingMs;
  }

  /** Resolves when a call may begin; rejects with the signal's reason on abort. */
  async acquire(signal?: AbortSignal): Promise<void> {
    if (!this.#tail && this.#nextMs <= this.#clock.now()) {
      this.#began();
      return;
    }
    const turn = (this.#tail ?? Promise.resolve()).then(() => this.#wait(signal));
    const tail = turn
      .catch(() => undefined) // an aborted call does not block the next ones; `turn` reports it
      .then(() => {
        if (this.#tail === tail) this.#tail = undefined;
      });
    this.#tail = tail;
    await turn;
  }

  /** Makes a call in its turn. */
  async run<T>(call: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    await this.acquire(signal);
    try {
      return await call();
    } finally {
      this.ended();
    }
  }

  /** Notes the end of an acquired call. */
  ended(): void {
    if (this.#fromEnd) this.#nextMs = Math.max(this.#nextMs, this.#clock.now() + this.#spacingMs);
  }

  /** Notes a successful call. */
  succeeded(): void {
    if (this.#spacingMs === this.#baseMs) return;
    this.#spacingMs = Math.max(this.#baseMs, this.#spacingMs * RECOVERY);
    if (this.#spacingMs < 1 && this.#baseMs === 0) this.#spacingMs = 0;
  }

  /** Notes a call that the cloud refused because of its rate limit. */
  refused(retryAfterMs?: number): void {
    const now = this.#clock.now();
    const alreadyPaused = this.#nextMs - now > Math.max(this.#spacingMs, FIRST_SPACING_MS);
    if (!alreadyPaused) {
      this.#spacingMs = Math.min(LONGEST_SPACING_MS, Math.max(FIRST_SPACING_MS, this.#spacingMs * 2));
    }
    const pauseMs = (retryAfterMs ?? NO_RETRY_AFTER_MS) * (1 + this.#random() / 4);
    this.#nextMs = Math.max(this.#nextMs, now + pauseMs);
  }

  async #wait(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    for (;;) {
      const leftMs = this.#nextMs - this.#clock.now();
      if (leftMs <= 0) break;
      await delay(this.#clock, leftMs, signal);
    }
    this.#began();
  }

  #began(): void {
    this.#nextMs = this.#clock.now() + this.#spacingMs;
  }
}
