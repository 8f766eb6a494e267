import { isLosslessNumber, LosslessNumber, parse } from 'lossless-json';
import type { Json, JsonObject } from './types.js';

/**
 * Original digits of numbers that JavaScript would write differently (`187155415299117092971361472410111703496`, `1.0`,
 * `-0`, `1e3`), keyed by the object or list that holds them. Values are ordinary numbers; only writing uses the digits.
 */
const numberTexts = new WeakMap<object, Map<string, string>>();
/** Bodies with at least one such number. All others are written by `JSON.stringify` alone. */
const bodiesWithNumberTexts = new WeakSet<object>();

/** Ends of numbers that JavaScript may write differently. Matches inside strings are harmless, they only cost time. */
const SUSPICIOUS_END = /\d[,}\]\s](?<=(?:[^\d.]-0|\.\d*0|0\.0{6}\d+|\d[eE][-+]?\d+|[\d.]{16})[^])/g;
const NUMBER_BEFORE_END = /-?\d[-+.\deE]*$/;
/** JavaScript writes numbers with at most this many characters: `-1.2345678901234567e-308`. */
const LONGEST_OWN_NUMBER = 24;
const COLON = 58;
const SPACE = 32;
/** Numbers that Python writes although JSON does not have them. */
const PYTHON_NUMBER = /NaN|Infinity/;
const TEXT_OR_PYTHON_NUMBER = /"(?:[^"\\]|\\.)*"|(?:-?Infinity|NaN)(?!\d)/g;
/** Placeholders for Python's numbers in the parser's input; no program writes them. */
const PYTHON_NUMBERS = [
  ['NaN', '-0e-90000001'],
  ['Infinity', '-0e-90000002'],
  ['-Infinity', '-0e-90000003'],
] as const;
const TO_JSON = new Map<string, string>(PYTHON_NUMBERS);
const FROM_JSON = new Map<string, string>(PYTHON_NUMBERS.map(([python, json]) => [json, python]));
/** Nesting limit: deeper values exhaust the stack of what reads or writes them. Python's own parser fails at about the same depth. */
const MAX_DEPTH = 1000;
/** Shorter texts cannot be nested too deeply: each level has two brackets. */
const SHORTEST_DEEP_TEXT = 2 * MAX_DEPTH;

/**
 * Parses JSON so that {@link stringifyAsRead} writes each number with its original digits. Accepts Python's `NaN` and
 * `Infinity`.
 * @throws {SyntaxError} not JSON, or JSON of more than 1,000 levels
 * @throws {RangeError} such numbers in JSON of some thousand levels
 */
export function parseAsWritten(text: string): Json {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    if (!PYTHON_NUMBER.test(text)) throw error;
    return parseExactly(text);
  }
  if (text.length > SHORTEST_DEEP_TEXT) checkDepth(value, 0);
  return mayReadBackDifferently(text, value) ? parseExactly(text) : value;
}

/** @throws {SyntaxError} */
function checkDepth(value: Json, depth: number): void {
  if (typeof value !== 'object' || value === null) return;
  if (depth >= MAX_DEPTH) throw new SyntaxError(`JSON of more than ${MAX_DEPTH} levels`);
  for (const each of Object.values(value)) checkDepth(each, depth + 1);
}

function parseExactly(text: string): Json {
  const json = text.replace(TEXT_OR_PYTHON_NUMBER, (part) => TO_JSON.get(part) ?? part);
  const document = [parse(json, undefined, { parseNumber, onDuplicateKey: ({ newValue }) => newValue }) as Json];
  const kept = keepNumberTexts(document, 0);
  const [value = null] = document;
  if (kept && typeof value === 'object' && value !== null) bodiesWithNumberTexts.add(value);
  return value;
}

function parseNumber(digits: string): number | LosslessNumber {
  const value = Number(digits);
  return JSON.stringify(value) === digits ? value : new LosslessNumber(digits);
}

/** Replaces lossless numbers by ordinary ones and records their digits. @returns whether there were any */
function keepNumberTexts(holder: object, depth: number): boolean {
  if (depth > MAX_DEPTH) throw new SyntaxError(`JSON of more than ${MAX_DEPTH} levels`);
  let found = false;
  for (const [key, value] of Object.entries(holder) as [keyof typeof holder, unknown][]) {
    if (isLosslessNumber(value)) {
      const digits = FROM_JSON.get(value.value) ?? value.value;
      numberTexts.set(holder, (numberTexts.get(holder) ?? new Map<string, string>()).set(key, digits));
      Object.assign(holder, { [key]: Number(digits) });
      found = true;
    } else if (typeof value === 'object' && value !== null) found = keepNumberTexts(value, depth + 1) || found;
  }
  return found;
}

function mayReadBackDifferently(text: string, value: Json): boolean {
  SUSPICIOUS_END.lastIndex = 0;
  while (SUSPICIOUS_END.test(text)) {
    const end = SUSPICIOUS_END.lastIndex - 1;
    if (!isOwnTime(text, end, value) && !isWrittenAlike(text, end)) return true;
  }
  return false;
}

/** Fast path: the two times of a record have enough digits to be suspicious, but JavaScript writes them unchanged. */
function isOwnTime(text: string, end: number, value: Json): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const { state_time: stateTime, created_time: createdTime } = value;
  return (
    (typeof stateTime === 'number' && endsWithNumber(text, String(stateTime), end)) ||
    (typeof createdTime === 'number' && endsWithNumber(text, String(createdTime), end))
  );
}

function endsWithNumber(text: string, number: string, end: number): boolean {
  const before = text.charCodeAt(end - number.length - 1);
  return text.endsWith(number, end) && (before === COLON || before === SPACE);
}

function isWrittenAlike(text: string, end: number): boolean {
  const token = NUMBER_BEFORE_END.exec(text.slice(Math.max(0, end - 2 * LONGEST_OWN_NUMBER), end))?.[0] ?? '';
  return token.length <= LONGEST_OWN_NUMBER && String(Number(token)) === token;
}

/**
 * The JSON text of `body`. Unchanged numbers, at any depth, keep their original digits.
 * @param asRead - result of {@link parseAsWritten} for the stored body; nested objects are recognised by identity
 */
export function stringifyAsRead(body: JsonObject, asRead: Readonly<JsonObject>): string {
  if (!bodiesWithNumberTexts.has(asRead)) return JSON.stringify(body);
  const topTexts = numberTexts.get(asRead);
  const members = Object.keys(body).map((key) => {
    const value = body[key] as Json;
    const text = Object.is(value, asRead[key]) ? topTexts?.get(key) : undefined;
    return `${JSON.stringify(key)}:${text ?? stringify(value)}`;
  });
  return `{${members.join(',')}}`;
}

function stringify(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const texts = numberTexts.get(value);
  if (Array.isArray(value)) {
    return `[${value.map((item, index) => texts?.get(String(index)) ?? stringify(item)).join(',')}]`;
  }
  const members = Object.keys(value).map(
    (key) => `${JSON.stringify(key)}:${texts?.get(key) ?? stringify(value[key] as Json)}`,
  );
  return `{${members.join(',')}}`;
}

/**
 * The original digits of a number in a stored record, for display.
 * @param holder - the object or list that holds it; must be the record's own, not a copy
 * @returns `undefined` if JavaScript writes the same digits, or if it is not a number
 */
export function numberAsRead(holder: object, key: string | number): string | undefined {
  return numberTexts.get(holder)?.get(String(key));
}
