import type { Clock } from '@nodepool/zk-protocol';

/** A rendered listing. */
export interface CachedBody {
  readonly body: Buffer;
  /** When rendering started, milliseconds since the UNIX epoch. */
  readonly computedMs: number;
}

/** Lifetime of an answer in the cache and in `Cache-Control`. */
export const CACHE_MS = 1000;
/** Limits the cache, as clients choose the queries. */
const MAX_ENTRIES = 64;

/** Caches rendered listings for a second, so that many readers cause one rendering. */
export class ResponseCache {
  readonly #entries = new Map<string, CachedBody>();
  readonly #pending = new Map<string, Promise<CachedBody | undefined>>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Returns the cached answer, the one being rendered, or a new one.
   * @param write - returns `undefined` to refuse
   */
  async get(key: string, write: () => Promise<Buffer | undefined>): Promise<CachedBody | undefined> {
    const kept = this.#entries.get(key);
    if (kept && this.#isFresh(kept)) return kept;
    const pending = this.#pending.get(key);
    if (pending) return pending;
    const writing = this.#write(key, write).finally(() => this.#pending.delete(key));
    this.#pending.set(key, writing);
    return writing;
  }

  async #write(key: string, write: () => Promise<Buffer | undefined>): Promise<CachedBody | undefined> {
    const computedMs = this.#clock.now();
    const body = await write();
    if (!body) return undefined;
    const entry = { body, computedMs };
    this.#evict();
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry;
  }

  /** The clock may have been set back. */
  #isFresh({ computedMs }: CachedBody): boolean {
    const ageMs = this.#clock.now() - computedMs;
    return ageMs >= 0 && ageMs < CACHE_MS;
  }

  /** Drops expired entries, and the oldest ones beyond the limit. */
  #evict(): void {
    for (const [key, entry] of this.#entries) {
      if (this.#isFresh(entry) && this.#entries.size < MAX_ENTRIES) break;
      this.#entries.delete(key);
    }
  }
}
