import { backoffMs, type CancelTimer } from '@nodepool/zk-protocol';
import type { Context } from './context.js';

/** The first and the longest pause of a key; pauses grow in between. */
export interface RetryLimits {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** Retries of several things by key, each after growing pauses with jitter. */
export class Retries<Key> {
  readonly #context: Pick<Context, 'clock' | 'random'>;
  readonly #keys = new Map<Key, { attempts: number; cancel: CancelTimer | undefined }>();

  constructor(context: Pick<Context, 'clock' | 'random'>) {
    this.#context = context;
  }

  /** Whether the key's pause is not over yet. */
  isPausing(key: Key): boolean {
    return this.#keys.get(key)?.cancel !== undefined;
  }

  /** Starts the key's next pause, and calls `retry` at its end. @returns the length of the pause */
  schedule(key: Key, limits: RetryLimits, retry: () => void): number {
    const { clock, random } = this.#context;
    const entry = this.#keys.get(key) ?? { attempts: 0, cancel: undefined };
    entry.cancel?.();
    const pauseMs = backoffMs(entry.attempts++, limits, random);
    entry.cancel = clock.setTimer(pauseMs, () => {
      entry.cancel = undefined;
      retry();
    });
    this.#keys.set(key, entry);
    return pauseMs;
  }

  /** Ends the key's present pause; `retry` is not called. */
  endPause(key: Key): void {
    const entry = this.#keys.get(key);
    entry?.cancel?.();
    if (entry) entry.cancel = undefined;
  }

  /** Cancels the key's retry; its next pause is a first one again. */
  forget(key: Key): void {
    this.#keys.get(key)?.cancel?.();
    this.#keys.delete(key);
  }

  /** Cancels all retries. */
  stop(): void {
    for (const { cancel } of this.#keys.values()) cancel?.();
    this.#keys.clear();
  }
}
