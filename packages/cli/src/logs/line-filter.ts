/** Keeps the log entries that contain an id, with their continuation lines, such as stack traces. */
export class LineFilter {
  readonly #wanted: RegExp;
  readonly #write: (text: string) => void;
  #rest = '';
  #isWanted = false;
  /** Lines written. */
  count = 0;

  /** @param write - gets whole lines with their ends */
  constructor(id: string, write: (text: string) => void) {
    // matches in brackets, lists and after equals signs, but not a part of a longer id
    this.#wanted = new RegExp(`(?<![\\w-])${id.replace(/[^\w]/g, '\\$&')}(?![\\w-])`);
    this.#write = write;
  }

  /** Takes in a piece of a log, which may end anywhere. */
  push(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#line(line);
  }

  /** The log has ended. */
  end(): void {
    if (this.#rest !== '') this.#line(this.#rest);
    this.#rest = '';
  }

  #line(line: string): void {
    if (!/^\s/.test(line)) this.#isWanted = this.#wanted.test(line);
    if (!this.#isWanted) return;
    this.count++;
    this.#write(`${line}\n`);
  }
}
