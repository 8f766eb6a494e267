import { delay, steadyNow, type Clock } from '@nodepool/zk-protocol';
import type { RateLimitedError } from '../../contract/errors.js';

/** A kind of call that the cloud refuses as too many, and that is not made for a while. */
export interface CallPause {
  /** Name of the calls in metrics, or of the task that makes them. */
  readonly call: string;
  /** When they are made again, ms since the epoch. */
  readonly untilMs: number;
  /** Length of the whole pause. */
  readonly pauseMs: number;
  /** What the cloud asked for, which may be more; `undefined`: it did not say. */
  readonly askedMs: number | undefined;
  /** The refusal. */
  readonly message: string;
}

/** Dependencies of pauses. */
export interface CallPausesOptions {
  readonly clock: Clock;
  /** Number in [0, 1) that spreads pauses. */
  readonly random: () => number;
}

/** However long a cloud asks to wait: afterwards, one call tells whether that still holds. */
export const LONGEST_PAUSE_MS = 300_000;
/** Where the cloud does not say how long: twice as long after each refusal, until a call succeeds. */
const UNSAID = { firstMs: 1_000, longestMs: 60_000 };

interface Entry extends Omit<CallPause, 'untilMs'> {
  /** Steady time. */
  readonly endMs: number;
}

/**
 * Pauses that the cloud asked for, each for the calls of one name: refused creations do not hold deletions back. Measured in steady
 * time, so that a clock that is set does not change them.
 */
export class CallPauses {
  readonly #options: CallPausesOptions;
  readonly #entries = new Map<string, Entry>();
  /** Refusals of calls in a row, without a time to wait. */
  readonly #refusals = new Map<string, number>();

  constructor(options: CallPausesOptions) {
    this.#options = options;
  }

  /** Pauses that have not ended. */
  get all(): CallPause[] {
    const { clock } = this.#options;
    const epochMs = clock.now() - steadyNow(clock);
    return [...this.#entries.values()].flatMap(({ endMs, ...entry }) =>
      this.leftMs(entry.call) > 0 ? [{ ...entry, untilMs: epochMs + endMs }] : [],
    );
  }

  /** Remaining pause of a call; `0`: it may be made. */
  leftMs(call: string): number {
    const entry = this.#entries.get(call);
    if (!entry) return 0;
    const leftMs = entry.endMs - steadyNow(this.#options.clock);
    if (leftMs <= 0) this.#entries.delete(call);
    return Math.max(0, leftMs);
  }

  /** Resolves when the call may be made; rejects with the signal's reason on abort. */
  async over(call: string, signal?: AbortSignal): Promise<void> {
    for (let leftMs = this.leftMs(call); leftMs > 0; leftMs = this.leftMs(call)) {
      await delay(this.#options.clock, leftMs, signal);
    }
  }

  /** Notes a refused call. A pause is never shortened. */
  refused(call: string, { retryAfterMs, message }: RateLimitedError): void {
    const { clock, random } = this.#options;
    const asked = retryAfterMs !== undefined && retryAfterMs >= 0 ? retryAfterMs : undefined;
    const leftMs = this.leftMs(call);
    if (asked === undefined && leftMs > 0) return; // of calls that were made together
    const pauseMs = Math.min(asked ?? this.#unsaidMs(call), LONGEST_PAUSE_MS) * (1 + random() / 4);
    if (pauseMs <= leftMs) return;
    this.#entries.set(call, { call, pauseMs, askedMs: asked, message, endMs: steadyNow(clock) + pauseMs });
  }

  /** A call was answered: the next refusal is a first one. */
  succeeded(call: string): void {
    this.#refusals.delete(call);
  }

  #unsaidMs(call: string): number {
    const before = this.#refusals.get(call) ?? 0;
    this.#refusals.set(call, before + 1);
    return Math.min(UNSAID.firstMs * 2 ** before, UNSAID.longestMs);
  }
}
