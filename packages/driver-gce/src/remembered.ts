import type { Clock } from '@nodepool/core';

/** Cache of answers with a lifetime. Concurrent callers share one call. */
export class Remembered<T> {
  readonly #clock: Clock;
  readonly #lifeMs: (value: T) => number;
  readonly #answers = new Map<string, { readonly answer: Promise<T>; untilMs: number }>();

  /** @param lifeMs - lifetime of an answer, from its arrival */
  constructor(clock: Clock, lifeMs: (value: T) => number) {
    this.#clock = clock;
    this.#lifeMs = lifeMs;
  }

  /** The cached answer, else a new one. Errors are not cached. */
  get(key: string, ask: () => Promise<T>): Promise<T> {
    const known = this.#answers.get(key);
    if (known && known.untilMs > this.#clock.now()) return known.answer;
    const asked = { answer: ask(), untilMs: Infinity };
    this.#answers.set(key, asked);
    asked.answer.then(
      (value) => (asked.untilMs = this.#clock.now() + this.#lifeMs(value)),
      () => this.#forget(key, asked),
    );
    return asked.answer;
  }

  /** Drops all answers. */
  clear(): void {
    this.#answers.clear();
  }

  #forget(key: string, asked: object): void {
    if (this.#answers.get(key) === asked) this.#answers.delete(key);
  }
}
