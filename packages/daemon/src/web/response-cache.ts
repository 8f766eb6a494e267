import type { Clock } from '@nodepool/zk-protocol';

/** A rendered listing. */
export interface CachedBody {
  readonly body: Buffer;
  /** When its writing began, milliseconds since the UNIX epoch. */
  readonly computedMs: number;
}

/** How long an answer is used again, and what `Cache-Control` promises. */
export const CACHE_MS = 1000;
/** Clients choose the query, so the number of kept answers is bounded. */
const MAX_ENTRIES = 64;

/** Keeps rendered listings for a second, so that many readers cost one rendering. */
export class ResponseCache {
  readonly #entries = new Map<string, CachedBody>();
  readonly #underWay = new Map<string, Promise<CachedBody | undefined>>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * The kept answer, or the one that is being written, or a new one that is kept.
   * @param write - gives `undefined` when it refuses
   */
  async get(key: string, write: () => Promise<Buffer | undefined>): Promise<CachedBody | undefined> {
    const kept = this.#entries.get(key);
    if (kept && this.#clock.now() - kept.computedMs < CACHE_MS) return kept;
    const underWay = this.#underWay.get(key);
    if (underWay) return underWay;
    const writing = this.#write(key, write).finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, writing);
    return writing;
  }

  async #write(key: string, write: () => Promise<Buffer | undefined>): Promise<CachedBody | undefined> {
    const computedMs = this.#clock.now();
    const body = await write();
    if (!body) return undefined;
    const entry = { body, computedMs };
    this.#makeRoom(this.#clock.now());
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
