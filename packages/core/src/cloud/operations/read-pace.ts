import { backoffMs, type Clock, steadyNow } from '@nodepool/zk-protocol';
import type { InstanceWaits } from './instance-waits.js';

/** Bounds of the pause between two lists, which is a quarter of the age of the youngest wait. */
export interface PollingLimits {
  readonly minMs: number;
  readonly maxMs: number;
}

/** Options of the pace of reads. */
export interface ReadPaceOptions {
  readonly clock: Pick<Clock, 'now' | 'steadyNow'>;
  /** Number in [0, 1). */
  readonly random: () => number;
  /** @default between 500 ms and 10 s */
  readonly polling: PollingLimits | undefined;
  /** The cloud pushes changes. */
  readonly isReporting: boolean;
}

const DEFAULT_POLLING = { minMs: 500, maxMs: 10_000 };
/** Polling interval of a cloud that pushes changes, in case one was lost. */
const SWEEP_MS = 30_000;
const AGE_SHARE = 0.25;

/**
 * Decides when instances are read next: soon for young waits, later after failures, and rarely in a cloud that pushes changes.
 */
export class ReadPace {
  readonly #options: ReadPaceOptions;
  readonly #minMs: number;
  readonly #maxMs: number;
  #lastBeganMs = -Infinity;
  #lastEndedMs = -Infinity;
  #failures = 0;
  /** Start of the last successful read. */
  #lastReadMs = -Infinity;
  /** Start of the first of the present failures. */
  #failingSinceMs = -Infinity;

  constructor(options: ReadPaceOptions) {
    this.#options = options;
    const { minMs, maxMs } = options.polling ?? DEFAULT_POLLING;
    this.#minMs = minMs;
    this.#maxMs = Math.max(minMs, maxMs);
  }

  /** Age of the known state in ms while reading fails; `0` otherwise. */
  get overdueMs(): number {
    return this.#failures === 0 ? 0 : this.#ageMs(steadyNow(this.#options.clock));
  }

  /** Notes the start of a read. */
  began(): void {
    this.#lastBeganMs = steadyNow(this.#options.clock);
  }

  /** Notes that the last read succeeded. */
  succeeded(): void {
    this.#failures = 0;
    this.#lastReadMs = this.#lastBeganMs;
  }

  failed(): void {
    if (this.#failures++ === 0) this.#failingSinceMs = this.#lastBeganMs;
  }

  /** Notes the end of a read. @returns age of the known state, ms */
  ended(): number {
    this.#lastEndedMs = steadyNow(this.#options.clock);
    return this.#ageMs(this.#lastEndedMs);
  }

  /**
   * Time of the next read. @param readsSingly - reads single instances only @returns `undefined`: no caller waits
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
