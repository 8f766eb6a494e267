/** Tells that something happened that a condition may follow from; what it is shows the next look. */
export class Concerns {
  readonly #listeners = new Set<() => void>();

  readonly tell = (): void => {
    for (const listener of this.#listeners) listener();
  };

  /** @returns ends it */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
