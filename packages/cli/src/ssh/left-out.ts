/** So many are named. */
const NAMED = 5;

/** What was not taken from an archive, in words of bounded length. */
export class LeftOut {
  readonly #named: string[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** @param path - as the machine sent it */
  add(path: unknown, why: string): void {
    this.#count += 1;
    if (this.#named.length < NAMED) this.#named.push(`${JSON.stringify(String(path).slice(0, 200))} (${why})`);
  }

  toString(): string {
    const more = this.#count - this.#named.length;
    return `${this.#named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  }
}
