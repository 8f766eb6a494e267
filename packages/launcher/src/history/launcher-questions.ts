import type { Clock } from '@nodepool/zk-protocol';
import { askLaunchers, type LauncherAnswer } from './ask-launchers.js';

/** Questions to all launchers in a burst. A person who opens one request after another stays below it. */
const MOST_AT_ONCE = 20;
const PER_SECOND = 2;
/** How long an answer is reused; shorter than the refresh interval of the status page. */
const KEPT_MS = 1_000;

interface Kept {
  readonly askedMs: number;
  readonly answers: Promise<LauncherAnswer[]>;
}

/**
 * Asks the other launchers for their records, at a limited rate: clients without a login must not be able to load all
 * launchers through one of them.
 */
export class LauncherQuestions {
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();
  #left = MOST_AT_ONCE;
  #filledMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#filledMs = clock.now();
  }

  /** @returns their answers, at most a second old; `undefined` if the rate limit was reached and no launcher was asked */
  ask(urls: readonly string[], id: string): Promise<LauncherAnswer[]> | undefined {
    if (urls.length === 0) return Promise.resolve([]);
    const nowMs = this.#clock.now();
    for (const [key, { askedMs }] of this.#kept) if (nowMs - askedMs >= KEPT_MS) this.#kept.delete(key);
    const kept = this.#kept.get(id);
    if (kept) return kept.answers;
    this.#left = Math.min(MOST_AT_ONCE, this.#left + (Math.max(0, nowMs - this.#filledMs) / 1_000) * PER_SECOND);
    this.#filledMs = nowMs;
    if (this.#left < 1) return undefined;
    this.#left--;
    const answers = askLaunchers(urls, id);
    this.#kept.set(id, { askedMs: nowMs, answers });
    return answers;
  }
}
