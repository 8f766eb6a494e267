import type { InstanceEvent } from './types.js';

/** Emits changes of instances. While the API is down, keeps the last change of each instance. */
export class EventFeed {
  readonly #isDown: () => boolean;
  readonly #listeners = new Set<(event: InstanceEvent) => void>();
  readonly #pending = new Map<string, InstanceEvent>();

  constructor(isDown: () => boolean) {
    this.#isDown = isDown;
  }

  /** @returns unsubscribe */
  listen(listener: (event: InstanceEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  emit(event: InstanceEvent): void {
    if (this.#isDown()) {
      this.#pending.set(event.id, event);
      return;
    }
    for (const listener of this.#listeners) listener(event);
  }

  /** Emits the kept changes if the API is up. */
  flush(): void {
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const event of pending) this.emit(event);
  }
}
