/** Stands for all names beyond the limit. */
export const OTHER = 'other';

/** The first names of something that clients choose: each of them may have metrics of its own, all others share some. */
export class BoundedNames {
  readonly #most: number;
  readonly #names = new Set<string>();

  /** @param most - number of names that are told apart */
  constructor(most: number) {
    this.#most = most;
  }

  /** Whether metrics may show the name; it is among the first ones if it comes early enough. */
  admits(name: string): boolean {
    if (this.#names.has(name)) return true;
    if (this.#names.size >= this.#most) return false;
    this.#names.add(name);
    return true;
  }

  /** The name to show. `null` and an empty name are none. */
  shown<Name extends string | null>(name: Name): Name | typeof OTHER {
    return !name || this.admits(name) ? name : OTHER;
  }
}
