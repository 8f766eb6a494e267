/**
 * A limit and its greatest value so far. Launchers learn of a change one after another, and each of them may use the last
 * remaining capacity.
 */
export class Limit {
  #now: number;
  #most: number;

  constructor(limit: number) {
    this.#now = this.#most = limit;
  }

  get value(): number {
    return this.#now;
  }

  set value(limit: number) {
    this.#now = limit;
    this.#most = Math.max(this.#most, limit);
  }

  get most(): number {
    return this.#most;
  }
}
