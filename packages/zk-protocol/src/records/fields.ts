import { isMap } from './json-values.js';
import type { Json, JsonObject } from './types.js';
import { RecordError } from './errors.js';
import { parseAsWritten, stringifyAsRead } from './exact-json.js';

/** The `raw` of every record that was not read from ZooKeeper. */
export const NO_BODY: Readonly<JsonObject> = Object.freeze({});

/** One value has the wrong type; {@link readBody} callers turn it into a {@link RecordError}. */
class WrongType extends Error {
  constructor(
    readonly key: string,
    readonly expected: string,
    readonly value: Json,
  ) {
    super(key);
  }
}

/** A value, or `undefined` for a missing key. */
export type Value = Json | undefined;

/** A string or `null`; `null` for a missing key. */
export function text(value: Value, key: string): string | null {
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) return null;
  throw new WrongType(key, 'a string or null', value);
}

/** A string or `null`; `fallback` for a missing key. */
export function textOr(value: Value, key: string, fallback: string): string | null {
  return value === undefined ? fallback : text(value, key);
}

/** A list of strings; empty for `null` or a missing key. */
export function texts(value: Value, key: string): string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new WrongType(key, 'a list of strings', value);
  for (let i = 0; i < value.length; i++) {
    if (typeof value[i] !== 'string') throw new WrongType(key, 'a list of strings', value);
  }
  return value as string[];
}

/** As {@link texts}; a single string, as in old data, becomes a list of one. */
export function textsOrOne(value: Value, key: string): string[] {
  if (typeof value === 'string') return value === '' ? [] : [value];
  return texts(value, key);
}

/** A number or `null`; `null` for a missing key. */
export function number(value: Value, key: string): number | null {
  if (typeof value === 'number' && !Number.isNaN(value)) return value;
  if (value === undefined || value === null) return null;
  throw new WrongType(key, 'a number or null', value);
}

/** An object or `null`; `null` for a missing key. */
export function object(value: Value, key: string): JsonObject | null {
  if (value === undefined || value === null) return null;
  if (isMap(value)) return value;
  throw new WrongType(key, 'an object or null', value);
}

/** A string, an object or `null`; `null` for a missing key. */
export function textOrObject(value: Value, key: string): string | JsonObject | null {
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) return null;
  if (isMap(value)) return value;
  throw new WrongType(key, 'a string, an object or null', value);
}

/** An object whose values are numbers, or `null`. */
export function amounts(value: Value, key: string): Record<string, number> | null {
  const amount = object(value, key);
  if (amount === null) return null;
  for (const name in amount) {
    if (typeof amount[name] !== 'number' || Number.isNaN(amount[name]))
      throw new WrongType(key, 'an object of numbers or null', amount);
  }
  return amount as Record<string, number>;
}

/** Converts seconds on the wire to milliseconds; `null` for a missing key. */
export function timeMs(value: Value, key: string): number | null {
  const seconds = number(value, key);
  return seconds === null ? null : seconds * 1000;
}

/** Converts milliseconds to seconds. Returns the number that was read if the time did not change, to avoid rounding. */
export function seconds(ms: number, asRead: Value): number {
  return typeof asRead === 'number' && asRead * 1000 === ms ? asRead : ms / 1000;
}

/** As {@link seconds}, for a time that may be `null`. */
export function secondsOrNull(ms: number | null, asRead: Value): number | null {
  return ms === null ? null : seconds(ms, asRead);
}

/**
 * Parses a body and decodes it with `read`.
 * @returns `undefined` for an empty body, which is not a record
 * @throws {RecordError} not JSON, not an object, or a key of the wrong type
 */
export function readBody<T>(kind: string, id: string, body: Buffer, read: (raw: JsonObject) => T): T | undefined {
  if (body.length === 0) return undefined;
  const raw = parseObject(kind, id, body);
  try {
    return read(raw);
  } catch (error) {
    if (!(error instanceof WrongType)) throw error;
    const shown = JSON.stringify(error.value).slice(0, 60);
    throw new RecordError(`${kind} ${id}`, `"${error.key}" should be ${error.expected}, it is ${shown}`, {
      key: error.key,
    });
  }
}

function parseObject(kind: string, id: string, body: Buffer): JsonObject {
  let parsed: Json;
  try {
    parsed = parseAsWritten(body.toString('utf8'));
  } catch (cause) {
    throw new RecordError(`${kind} ${id}`, `its body (${body.length} bytes) is not JSON`, { cause });
  }
  if (!isMap(parsed)) throw new RecordError(`${kind} ${id}`, 'its body is JSON but not an object');
  return parsed;
}

/** Copies the keys of `raw` that are not in `known`, to preserve data of other programs. */
export function keepUnknown(body: JsonObject, raw: Readonly<JsonObject>, known: ReadonlySet<string>): void {
  for (const key in raw) {
    if (known.has(key)) continue;
    const value = raw[key] as Json;
    // Assigning this key would replace the prototype and lose the value.
    if (key === '__proto__') Object.defineProperty(body, key, { value, enumerable: true });
    else body[key] = value;
  }
}

/** A copy of `record` with the given changes; ignores `undefined` values. Keeps one object shape, which is fast. */
export function copyWith<T extends object>(record: T, changes: Partial<T>): T {
  const copy = { ...record };
  for (const key in changes) {
    const value = changes[key];
    if (value !== undefined) copy[key] = value;
  }
  return copy;
}

/**
 * The body as ZooKeeper stores it.
 * @param asRead - the body as it was read: unchanged numbers keep their digits, at any depth
 */
export function toBuffer(body: JsonObject, asRead: Readonly<JsonObject>): Buffer {
  return Buffer.from(stringifyAsRead(body, asRead), 'utf8');
}
