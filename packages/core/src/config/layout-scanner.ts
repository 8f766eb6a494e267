/** Spaces to insert so that the YAML parser accepts a layout. They do not change the meaning. */
export interface Padding {
  /** Insertion offset. */
  readonly offset: number;
  readonly spaces: number;
  /**
   * `margin`: a line continues a value too far left. `comment`: no space before a comment. `none`: valid YAML, but the
   * parser still needs the space.
   */
  readonly kind: 'margin' | 'comment' | 'none';
}

const BLANK = /[ \t]/;
const MARKER = /^(?:---|\.\.\.)(?:\s|$)/;
const BLANK_OR_END = /[ \t\n\r]|^$/;

/**
 * Finds layouts that PyYAML accepts and YAML forbids: flow lists, flow maps and quoted texts that continue at the column of
 * their key or left of it, and comments directly after another token. Follows the relevant tokens of PyYAML's scanner.
 */
export class LayoutScanner {
  readonly #paddings: Padding[] = [];
  /** Columns of the open block collections, as in PyYAML. */
  readonly #indents = [-1];
  #at = 0;
  #lineStart = 0;
  #flowLevel = 0;
  /** Column of the outermost open bracket or quote. */
  #openColumn = 0;
  /** Column of a token that becomes a key if a colon follows. */
  #keyColumn: number | undefined;

  constructor(private readonly text: string) {}

  /** @returns `undefined`: a bracket or quote is not closed in its document, or a bracket is closed twice */
  scan(): readonly Padding[] | undefined {
    while (this.#at < this.text.length) if (!this.#token()) return undefined;
    return this.#flowLevel === 0 ? this.#paddings : undefined;
  }

  #token(): boolean {
    this.#skipToToken();
    const char = this.#peek();
    if (char === '') return true;
    if (this.#isMarker() || (char === '%' && this.#column() === 0)) return this.#marker();
    if (this.#flowLevel === 0) this.#unwind();
    const isIndicator = BLANK_OR_END.test(this.#peek(1));
    if (char === '[' || char === '{') return this.#open();
    if (char === ']' || char === '}') return this.#close();
    if (char === '"' || char === "'") return this.#quoted(char);
    if (this.#flowLevel > 0 && char === ',') return this.#skip(1);
    if (char === ':' && (isIndicator || this.#flowLevel > 0)) return this.#colon();
    if (this.#flowLevel === 0) {
      if ((char === '-' || char === '?') && isIndicator) return this.#blockIndicator();
      if (char === '|' || char === '>') return this.#blockScalar();
      if (/[&*!]/.test(char)) return this.#word();
    }
    return this.#plain();
  }

  /** Scans `---`, `...` and directives, which end every value. */
  #marker(): boolean {
    if (this.#peek() === '%') this.#toLineEnd();
    else this.#at += 3;
    return this.#flowLevel === 0;
  }

  #isMarker(): boolean {
    return this.#column() === 0 && MARKER.test(this.text.slice(this.#at, this.#at + 4));
  }

  #peek(ahead = 0): string {
    return this.text.charAt(this.#at + ahead);
  }

  #column(): number {
    return this.#at - this.#lineStart;
  }

  get #indent(): number {
    return this.#indents.at(-1) ?? -1;
  }

  #skip(length: number): true {
    this.#at += length;
    return true;
  }

  #newLine(): void {
    this.#at += 1;
    this.#lineStart = this.#at;
    if (this.#flowLevel === 0) this.#keyColumn = undefined;
  }

  /** Skips spaces, line ends and comments, and pads continuation lines of flow collections that start too far left. */
  #skipToToken(): void {
    for (;;) {
      const start = this.#lineStart;
      this.#skipBlanks();
      const char = this.#peek();
      if (start !== this.#lineStart && this.#flowLevel > 0 && char !== '') this.#keepRightOfMargin();
      if (char !== '#') return;
      this.#comment();
    }
  }

  #skipBlanks(): void {
    while (/\s/.test(this.#peek())) {
      if (this.#peek() === '\n') this.#newLine();
      else this.#at += 1;
    }
  }

  #comment(): void {
    const isFirstInLine = this.#column() === 0;
    const isGlued = !isFirstInLine && !/\s/.test(this.text.charAt(this.#at - 1));
    const isMargin = isFirstInLine && this.#flowLevel > 0 && this.#indent === -1;
    if (isGlued || isMargin) this.#paddings.push({ offset: this.#at, spaces: 1, kind: isGlued ? 'comment' : 'none' });
    this.#toLineEnd();
  }

  #keepRightOfMargin(): void {
    if (this.#column() > this.#indent) return;
    // a closing bracket at the column of its key is common
    const kind = this.#column() === this.#indent && /[\]}]/.test(this.#peek()) ? 'none' : 'margin';
    this.#paddings.push({ offset: this.#at, spaces: this.#openColumn + 1, kind });
  }

  #unwind(): void {
    while (this.#indent > this.#column()) this.#indents.pop();
  }

  #begin(column: number): void {
    if (this.#indent < column) this.#indents.push(column);
  }

  #blockIndicator(): boolean {
    this.#begin(this.#column());
    return this.#skip(1);
  }

  #colon(): boolean {
    if (this.#flowLevel === 0 && this.#keyColumn !== undefined) this.#begin(this.#keyColumn);
    this.#keyColumn = undefined;
    return this.#skip(1);
  }

  #noteStart(): void {
    if (this.#flowLevel > 0) return;
    this.#openColumn = this.#column();
    this.#keyColumn ??= this.#column();
  }

  #open(): boolean {
    this.#noteStart();
    this.#flowLevel += 1;
    return this.#skip(1);
  }

  #close(): boolean {
    this.#flowLevel -= 1;
    return this.#flowLevel >= 0 && this.#skip(1);
  }

  #quoted(quote: string): boolean {
    this.#noteStart();
    for (this.#at += 1; this.#at < this.text.length;) {
      const char = this.#peek();
      if (this.#isMarker()) return false;
      if (char === '\n') this.#quotedLine();
      else if (char === '\\' && quote === '"' && this.#peek(1) !== '\n') this.#at += 2;
      else if (char !== quote) this.#at += 1;
      else if (quote === "'" && this.#peek(1) === quote) this.#at += 2;
      else return this.#skip(1);
    }
    return false;
  }

  #quotedLine(): void {
    const key = this.#keyColumn;
    this.#newLine();
    this.#keyColumn = key;
    while (BLANK.test(this.#peek())) this.#at += 1;
    if (!/[\r\n]/.test(this.#peek())) this.#keepRightOfMargin();
  }

  #word(): boolean {
    this.#noteStart();
    while (!BLANK_OR_END.test(this.#peek())) this.#at += 1;
    return true;
  }

  /** Scans a plain scalar, including all indented continuation lines. */
  #plain(): boolean {
    this.#noteStart();
    for (;;) {
      this.#plainWord();
      const start = this.#lineStart;
      this.#skipBlanks();
      const char = this.#peek();
      const isOver = char === '' || char === '#' || this.#isMarker() || this.#isPlainEnd();
      const isOutside = this.#flowLevel === 0 && this.#column() <= this.#indent;
      if (this.#lineStart !== start && this.#flowLevel > 0 && char !== '') this.#keepRightOfMargin();
      if (isOver || isOutside) return true;
    }
  }

  #plainWord(): void {
    do this.#at += 1;
    while (this.#peek() !== '' && !/\s/.test(this.#peek()) && !this.#isPlainEnd());
  }

  #isPlainEnd(): boolean {
    const char = this.#peek();
    if (this.#flowLevel > 0 && /[,[\]{}]/.test(char)) return true;
    return (
      char === ':' && (BLANK_OR_END.test(this.#peek(1)) || (this.#flowLevel > 0 && /[,[\]{}]/.test(this.#peek(1))))
    );
  }

  /** Scans a block scalar, which consists of blank and indented lines. */
  #blockScalar(): boolean {
    this.#toLineEnd();
    while (this.#at < this.text.length) {
      this.#newLine();
      while (this.#peek() === ' ') this.#at += 1;
      if (!/[\r\n]|^$/.test(this.#peek()) && this.#column() <= this.#indent) break;
      this.#toLineEnd();
    }
    return true;
  }

  #toLineEnd(): void {
    const end = this.text.indexOf('\n', this.#at);
    this.#at = end === -1 ? this.text.length : end;
  }
}
