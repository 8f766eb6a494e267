import type { ZooKeeperLogger } from '../base/logger.js';

/** A list of callbacks. Errors that a callback throws are logged, and the remaining callbacks run. */
export class Listeners<Args extends unknown[]> {
  readonly #listeners = new Set<{ readonly listener: (...args: Args) => void }>();

  constructor(private readonly logger: ZooKeeperLogger) {}

  add(listener: (...args: Args) => void): () => void {
    const own = { listener };
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  call(...args: Args): void {
    for (const { listener } of this.#listeners) {
      try {
        listener(...args);
      } catch (error) {
        this.logger.error('Cache listener failed', { error });
      }
    }
  }
}
