import type { Clock } from '@nodepool/core';

/** Answers of the cloud that are good for a while. Whoever asks for the same meanwhile gets the same answer. */
export class Remembered<T> {
  readonly #clock: Clock;
  readonly #lifeMs: (value: T) => number;
  readonly #answers = new Map<string, { readonly answer: Promise<T>; untilMs: number }>();

  /** @param lifeMs - for how long an answer is good, from its arrival */
  constructor(clock: Clock, lifeMs: (value: T) => number) {
    this.#clock = clock;
    this.#lifeMs = lifeMs;
  }

  /** The answer that is known, else a new one. One that is refused is asked for again the next time. */
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

  /** Something the answers said turned out to be wrong. */
  clear(): void {
    this.#answers.clear();
  }

  #forget(key: string, asked: object): void {
    if (this.#answers.get(key) === asked) this.#answers.delete(key);
  }
}
