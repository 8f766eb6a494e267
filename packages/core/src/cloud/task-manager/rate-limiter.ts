import { delay, steadyNow, type Clock } from '@nodepool/zk-protocol';

/** Options of a rate limiter. */
export interface RateLimiterOptions {
  readonly clock: Clock;
  /** `undefined` or `0`: no limit until the cloud refuses calls. */
  readonly requestsPerSecond?: number | undefined;
  /** Whether the interval starts with the start or the end of the previous call. Default: start. */
  readonly measuredFrom?: 'start' | 'end' | undefined;
}

const FIRST_SPACING_MS = 50;
const LONGEST_SPACING_MS = 10_000;
/** Refusals within this time are of calls that were made together. */
const TOGETHER_MS = 1_000;
/** Factor by which each successful call shortens the interval after a refusal. */
const RECOVERY = 0.9;

/**
 * Spaces calls in their order, in steady time. A refusal by the cloud doubles the interval, once for all calls that are refused
 * together; each success reduces it towards the configured one.
 */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #baseMs: number;
  readonly #fromEnd: boolean;
  #spacingMs: number;
  #nextMs = -Infinity;
  #doubledMs = -Infinity;
  #tail: Promise<void> | undefined;

  constructor({ clock, requestsPerSecond: rate, measuredFrom }: RateLimiterOptions) {
    this.#clock = clock;
    this.#baseMs = rate !== undefined && rate > 0 ? 1000 / rate : 0;
    this.#spacingMs = this.#baseMs;
    this.#fromEnd = measuredFrom === 'end';
  }

  /** Present interval between calls in milliseconds. */
  get spacingMs(): number {
    return this.#spacingMs;
  }

  /**
   * Resolves when a call may begin; rejects with the signal's reason on abort.
   * @param isOff - asked at its turn: the call is not to be made, and the next one need not wait for it
   * @returns whether the call may be made
   */
  async acquire(signal?: AbortSignal, isOff: () => boolean = () => false): Promise<boolean> {
    if (!this.#tail && this.#nextMs <= steadyNow(this.#clock)) return this.#began(isOff);
    const turn = (this.#tail ?? Promise.resolve()).then(() => this.#wait(signal, isOff));
    const tail = turn
      .catch(() => undefined) // an aborted call does not block the next ones; `turn` reports it
      .then(() => {
        if (this.#tail === tail) this.#tail = undefined;
      });
    this.#tail = tail;
    return turn;
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
    if (this.#fromEnd) this.#nextMs = Math.max(this.#nextMs, steadyNow(this.#clock) + this.#spacingMs);
  }

  /** Notes a successful call. */
  succeeded(): void {
    if (this.#spacingMs === this.#baseMs) return;
    this.#spacingMs = Math.max(this.#baseMs, this.#spacingMs * RECOVERY);
    if (this.#spacingMs < 1 && this.#baseMs === 0) this.#spacingMs = 0;
  }

  /** Notes a call that the cloud refused because of its rate limit. */
  refused(): void {
    const nowMs = steadyNow(this.#clock);
    if (nowMs < this.#doubledMs + TOGETHER_MS) return;
    this.#doubledMs = nowMs;
    this.#spacingMs = Math.min(LONGEST_SPACING_MS, Math.max(FIRST_SPACING_MS, this.#spacingMs * 2));
  }

  async #wait(signal: AbortSignal | undefined, isOff: () => boolean): Promise<boolean> {
    signal?.throwIfAborted();
    for (;;) {
      const leftMs = this.#nextMs - steadyNow(this.#clock);
      if (leftMs <= 0 || isOff()) break;
      await delay(this.#clock, leftMs, signal);
    }
    return this.#began(isOff);
  }

  #began(isOff: () => boolean): boolean {
    if (isOff()) return false;
    this.#nextMs = steadyNow(this.#clock) + this.#spacingMs;
    return true;
  }
}
