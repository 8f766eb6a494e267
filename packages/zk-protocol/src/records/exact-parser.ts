import type { Json, JsonObject } from './types.js';

/** Texts of numbers by key (or index) of the object (or list) that holds them. */
export type NumberTexts = WeakMap<object, Map<string, string>>;

/** Python's own reader gives up at about this many levels. */
const MAX_DEPTH = 1000;
const SPACE = /[ \t\n\r]*/y;
const STRING = /"(?:[^"\\]|\\.)*"/y;
const NUMBER = /-?(?:Infinity|(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?)|NaN/y;
const WORD = /true|false|null/y;

/**
 * Parses JSON, and Python's `NaN` and `Infinity`, and notes in `texts` each number that JavaScript writes differently.
 * Ten times slower than `JSON.parse`: for the few bodies that need it.
 * @returns the value, and how many numbers were noted
 * @throws {SyntaxError} not JSON, or of more than 1,000 levels
 */
export function parseKeepingNumbers(text: string, texts: NumberTexts): { value: Json; kept: number } {
  const parser = new ExactParser(text, texts);
  return { value: parser.document(), kept: parser.kept };
}

class ExactParser {
  kept = 0;
  #at = 0;
  #depth = 0;
  /** Digits of the number that was read last, if JavaScript's differ. */
  #digits: string | undefined;

  constructor(
    private readonly text: string,
    private readonly texts: NumberTexts,
  ) {}

  document(): Json {
    const value = this.#value();
    this.#skipSpace();
    if (this.#at < this.text.length) this.#fail();
    return value;
  }

  #value(): Json {
    this.#skipSpace();
    this.#digits = undefined;
    const first = this.text[this.#at];
    if (first === '"') return this.#string();
    if (first === '{') return this.#nested(() => this.#object());
    if (first === '[') return this.#nested(() => this.#list());
    const word = this.#match(WORD);
    if (word !== undefined) return JSON.parse(word) as Json;
    return this.#number();
  }

  #number(): number {
    const digits = this.#match(NUMBER) ?? this.#fail();
    const value = Number(digits);
    if (JSON.stringify(value) !== digits) this.#digits = digits;
    return value;
  }

  #string(): string {
    return JSON.parse(this.#match(STRING) ?? this.#fail()) as string;
  }

  #nested<T>(read: () => T): T {
    if (++this.#depth > MAX_DEPTH) this.#fail();
    const value = read();
    this.#depth--;
    this.#digits = undefined;
    return value;
  }

  #object(): JsonObject {
    const object: JsonObject = {};
    this.#members('}', () => {
      if (this.text[this.#at] !== '"') this.#fail();
      const key = this.#string();
      this.#skipSpace();
      if (this.text[this.#at++] !== ':') this.#fail();
      const value = this.#value();
      // A plain assignment of this one key would replace the prototype.
      Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
      this.#note(object, key);
    });
    return object;
  }

  #list(): Json[] {
    const list: Json[] = [];
    this.#members(']', () => {
      list.push(this.#value());
      this.#note(list, String(list.length - 1));
    });
    return list;
  }

  /** Reads comma-separated members up to `end`; starts at the opening bracket. */
  #members(end: string, readMember: () => void): void {
    this.#at++;
    this.#skipSpace();
    if (this.text[this.#at] === end) {
      this.#at++;
      return;
    }
    for (;;) {
      this.#skipSpace();
      readMember();
      this.#skipSpace();
      const mark = this.text[this.#at++];
      if (mark === end) return;
      if (mark !== ',') this.#fail();
    }
  }

  /** Of a key that occurs twice the last value counts, and so do its digits. */
  #note(holder: object, key: string): void {
    const known = this.texts.get(holder) ?? new Map<string, string>();
    if (this.#digits === undefined) {
      known.delete(key);
      return;
    }
    known.set(key, this.#digits);
    this.texts.set(holder, known);
    this.kept++;
  }

  #skipSpace(): void {
    this.#match(SPACE);
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  #fail(): never {
    const near = this.text.slice(this.#at, this.#at + 20);
    throw new SyntaxError(`no JSON of at most ${MAX_DEPTH} levels at character ${this.#at}: "${near}"`);
  }
}
