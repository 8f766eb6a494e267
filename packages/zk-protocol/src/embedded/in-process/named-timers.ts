import type { CancelTimer, Clock } from '../../base/clock.js';

/** Timers of which there is one of each name: setting it anew replaces the one before. */
export class NamedTimers<Name extends string> {
  readonly #clock: Clock;
  readonly #timers = new Map<Name, CancelTimer>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  has(name: Name): boolean {
    return this.#timers.has(name);
  }

  set(name: Name, ms: number, fire: () => void): void {
    this.cancel(name);
    const cancel = this.#clock.setTimer(ms, () => {
      this.#timers.delete(name);
      fire();
    });
    this.#timers.set(name, cancel);
  }

  cancel(name: Name): void {
    this.#timers.get(name)?.();
    this.#timers.delete(name);
  }

  cancelAll(): void {
    for (const name of [...this.#timers.keys()]) this.cancel(name);
  }
}
