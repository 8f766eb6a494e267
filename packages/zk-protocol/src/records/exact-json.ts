import { isLosslessNumber, LosslessNumber, parse } from 'lossless-json';
import type { Json, JsonObject } from './types.js';

/**
 * The numbers that JavaScript would write otherwise than they were read (`187155415299117092971361472410111703496`, `1.0`,
 * `-0`, `1e3`), by the object or list that holds them. Values travel as ordinary numbers; only writing looks here.
 */
const numberTexts = new WeakMap<object, Map<string, string>>();
/** Bodies in which at least one such number was found: all others are written by `JSON.stringify` alone. */
const bodiesWithNumberTexts = new WeakSet<object>();

/** Ends of numbers that may read back differently; inside texts it finds too much, which costs time only. */
const SUSPICIOUS_END = /\d[,}\]\s](?<=(?:[^\d.]-0|\.\d*0|0\.0{6}\d+|\d[eE][-+]?\d+|[\d.]{16})[^])/g;
const NUMBER_BEFORE_END = /-?\d[-+.\deE]*$/;
/** JavaScript writes at most this many characters: `-1.2345678901234567e-308`. */
const LONGEST_OWN_NUMBER = 24;
const COLON = 58;
const SPACE = 32;
/** What Python writes for numbers that JSON does not know. */
const PYTHON_NUMBER = /NaN|Infinity/;
const TEXT_OR_PYTHON_NUMBER = /"(?:[^"\\]|\\.)*"|(?:-?Infinity|NaN)(?!\d)/g;
/** Numbers that stand for Python's in what the parser gets, and that nothing else writes. */
const PYTHON_NUMBERS = [
  ['NaN', '-0e-90000001'],
  ['Infinity', '-0e-90000002'],
  ['-Infinity', '-0e-90000003'],
] as const;
const TO_JSON = new Map<string, string>(PYTHON_NUMBERS);
const FROM_JSON = new Map<string, string>(PYTHON_NUMBERS.map(([python, json]) => [json, python]));
/** Python's own reader gives up at about this many levels. */
const MAX_DEPTH = 1000;

/**
 * Parses JSON such that {@link stringifyAsRead} writes each number back as it was read. `NaN` and `Infinity`, as Python
 * writes them, are understood.
 * @throws {SyntaxError} not JSON, or such numbers in JSON of more than 1,000 levels
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
  return mayReadBackDifferently(text, value) ? parseExactly(text) : value;
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

/** Puts ordinary numbers in place of those that kept their digits, and notes the digits. @returns whether there were any */
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

/** Saves most records the look at their two times, which have enough digits to be suspicious. */
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
 * The JSON text of `body`: every number that is still the one of `asRead`, at any depth, in the digits that were read.
 * @param asRead - what {@link parseAsWritten} gave for the stored body; objects below it are recognised by identity
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
 * A number of a stored record in the digits in which it was read, to show it to people.
 * @param holder - the object or list that holds it, as the record has it; a copy knows no digits
 * @returns `undefined` when JavaScript's own digits are the same, or when it is no number
 */
export function numberAsRead(holder: object, key: string | number): string | undefined {
  return numberTexts.get(holder)?.get(String(key));
}
