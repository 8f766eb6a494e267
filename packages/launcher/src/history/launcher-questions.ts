import type { Clock } from '@nodepool/zk-protocol';
import { askLaunchers, type LauncherAnswer } from './ask-launchers.js';

/** Questions to all launchers at once after a rest. A person who looks at requests one after the other never gets there. */
const MOST_AT_ONCE = 20;
const PER_SECOND = 2;
/** How long an answer is used again; less than a page takes to look again. */
const KEPT_MS = 1_000;

interface Kept {
  readonly askedMs: number;
  readonly answers: Promise<LauncherAnswer[]>;
}

/**
 * Asks the other launchers for what they have on record, so seldom that nobody without a login can use one launcher to
 * keep all the others busy.
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

  /** @returns their answers, of this moment or of the last second; `undefined`: too many questions, nobody was asked */
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
