/**
 * A limit, and the most that it was: launchers hear of a change one after the other, and each of them may believe that
 * the last room is its own.
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
