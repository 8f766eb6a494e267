import { backoffMs, type Clock } from '@nodepool/zk-protocol';
import type { InstanceWaits } from './instance-waits.js';

/** Bounds of the pause between two lists; within them it is a quarter of how long the youngest operation has waited. */
export interface PollingLimits {
  readonly minMs: number;
  readonly maxMs: number;
}

/** What decides how often instances are read. */
export interface ReadPaceOptions {
  readonly clock: Pick<Clock, 'now'>;
  /** Number in [0, 1). */
  readonly random: () => number;
  /** @default between 500 ms and 10 s */
  readonly polling: PollingLimits | undefined;
  /** The cloud reports changes by itself. */
  readonly isReporting: boolean;
}

const DEFAULT_POLLING = { minMs: 500, maxMs: 10_000 };
/** A cloud that reports changes is still asked this often, in case one got lost. */
const SWEEP_MS = 30_000;
const AGE_SHARE = 0.25;

/**
 * When instances are read next: the sooner the younger the youngest wait, less often after failures, and hardly ever in
 * a cloud that reports changes by itself.
 */
export class ReadPace {
  readonly #options: ReadPaceOptions;
  readonly #minMs: number;
  readonly #maxMs: number;
  #lastBeganMs = -Infinity;
  #lastEndedMs = -Infinity;
  #failures = 0;
  /** When something was last read. */
  #lastReadMs = -Infinity;
  /** When the first of the present failures began. */
  #failingSinceMs = -Infinity;

  constructor(options: ReadPaceOptions) {
    this.#options = options;
    const { minMs, maxMs } = options.polling ?? DEFAULT_POLLING;
    this.#minMs = minMs;
    this.#maxMs = Math.max(minMs, maxMs);
  }

  /** How old what is known is, ms, while reading it fails; `0` otherwise. */
  get overdueMs(): number {
    return this.#failures === 0 ? 0 : this.#ageMs(this.#options.clock.now());
  }

  /** A read begins. */
  began(): void {
    this.#lastBeganMs = this.#options.clock.now();
  }

  /** The read that began last has brought something. */
  succeeded(): void {
    this.#failures = 0;
    this.#lastReadMs = this.#lastBeganMs;
  }

  failed(): void {
    if (this.#failures++ === 0) this.#failingSinceMs = this.#lastBeganMs;
  }

  /** A read ended, however. @returns how old what is known is now, ms */
  ended(): number {
    this.#lastEndedMs = this.#options.clock.now();
    return this.#ageMs(this.#lastEndedMs);
  }

  /**
   * When to read next. @param readsSingly - only single instances would be read @returns `undefined`: no caller waits
   */
  dueMs(waits: InstanceWaits, readsSingly: boolean): number | undefined {
    if (waits.questions.size > 0) return readsSingly ? this.#afterFailure() : this.#lastBeganMs + this.#pauseMs();
    if (!waits.hasWatchers) return undefined;
    if (this.#options.isReporting) return Math.max(this.#lastEndedMs, waits.oldestMs) + SWEEP_MS;
    const lastMs = Math.max(this.#lastEndedMs, 0);
    const ageMs = Math.max(0, lastMs - waits.youngestMs);
    return lastMs + Math.min(this.#maxMs, Math.max(this.#pauseMs(), ageMs * AGE_SHARE));
  }

  #ageMs(nowMs: number): number {
    return nowMs - Math.max(this.#lastReadMs, this.#failingSinceMs);
  }

  #afterFailure(): number {
    return this.#failures === 0 ? -Infinity : this.#lastBeganMs + this.#pauseMs();
  }

  /** Shortest pause between two reads: longer after failures. */
  #pauseMs(): number {
    if (this.#failures === 0) return this.#minMs;
    const pause = { firstMs: Math.max(this.#minMs, 250), longestMs: Math.max(this.#maxMs, 1_000), jitter: 0.25 };
    return Math.max(this.#minMs, backoffMs(this.#failures, pause, this.#options.random));
  }
}
