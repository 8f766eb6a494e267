import type { InstanceEvent } from './types.js';

/** Tells about changes of instances. While the API is down they are kept, the last one of each instance. */
export class EventFeed {
  readonly #isDown: () => boolean;
  readonly #listeners = new Set<(event: InstanceEvent) => void>();
  readonly #unheard = new Map<string, InstanceEvent>();

  constructor(isDown: () => boolean) {
    this.#isDown = isDown;
  }

  /** Returns how to end it. */
  listen(listener: (event: InstanceEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  emit(event: InstanceEvent): void {
    if (this.#isDown()) {
      this.#unheard.set(event.id, event);
      return;
    }
    for (const listener of this.#listeners) listener(event);
  }

  /** Tells what could not be heard, if it can now. */
  catchUp(): void {
    const unheard = [...this.#unheard.values()];
    this.#unheard.clear();
    for (const event of unheard) this.emit(event);
  }
}
