import type { Clock } from '@nodepool/zk-protocol';

/** A rendered listing. */
export interface CachedBody {
  readonly body: Buffer;
  /** When it was computed, milliseconds since the UNIX epoch. */
  readonly computedMs: number;
}

/** How long an answer is used again, and what `Cache-Control` promises. */
export const CACHE_MS = 1000;
/** Clients choose the query, so the number of kept answers is bounded. */
const MAX_ENTRIES = 64;

/** Keeps rendered listings for a second, so that many readers cost one rendering. */
export class ResponseCache {
  readonly #entries = new Map<string, CachedBody>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The kept answer, while it may be used. */
  kept(key: string): CachedBody | undefined {
    const kept = this.#entries.get(key);
    return kept && this.#clock.now() - kept.computedMs < CACHE_MS ? kept : undefined;
  }

  /** The kept answer, or a new one that is kept. */
  get(key: string, render: () => string): CachedBody {
    const kept = this.kept(key);
    if (kept) return kept;
    const nowMs = this.#clock.now();
    this.#makeRoom(nowMs);
    const entry = { body: Buffer.from(render()), computedMs: nowMs };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry;
  }

  /** Drops what is too old, and the oldest when there is too much. */
  #makeRoom(nowMs: number): void {
    for (const [key, entry] of this.#entries) {
      if (nowMs - entry.computedMs < CACHE_MS && this.#entries.size < MAX_ENTRIES) break;
      this.#entries.delete(key);
    }
  }
}
