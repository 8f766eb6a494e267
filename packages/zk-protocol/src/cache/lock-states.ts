/** Shared by all lock directories without contenders, which is nearly all of them. */
const NO_ENTRIES: readonly string[] = Object.freeze([]);

/** Lock directories by record id, with the names in them. */
export class LockStates {
  readonly #entries = new Map<string, readonly string[]>();

  contenders(id: string): number {
    return this.#entries.get(id)?.length ?? 0;
  }

  hasDirectory(id: string): boolean {
    return this.#entries.has(id);
  }

  ids(): IterableIterator<string> {
    return this.#entries.keys();
  }

  addDirectory(id: string): void {
    if (!this.#entries.has(id)) this.#entries.set(id, NO_ENTRIES);
  }

  removeDirectory(id: string): void {
    this.#entries.delete(id);
  }

  addEntry(id: string, entry: string): void {
    const before = this.#entries.get(id) ?? NO_ENTRIES;
    if (!before.includes(entry)) this.#entries.set(id, [...before, entry]);
  }

  removeEntry(id: string, entry: string): void {
    const before = this.#entries.get(id);
    if (!before?.includes(entry)) return;
    this.#entries.set(id, before.length === 1 ? NO_ENTRIES : before.filter((name) => name !== entry));
  }

  replace(id: string, entries: readonly string[]): void {
    this.#entries.set(id, entries.length === 0 ? NO_ENTRIES : entries);
  }
}
