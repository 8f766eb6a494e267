import { isMap, type Json, type JsonObject } from '@nodepool/zk-protocol';

/** Readers for answers of a cloud, which may lack any value. */
export function textIn(from: JsonObject, key: string): string | undefined {
  const value = from[key];
  return typeof value === 'string' ? value : undefined;
}

/** A number, or a string with a number. */
export function numberIn(from: JsonObject, key: string): number | undefined {
  const value = from[key];
  if (typeof value === 'number') return value;
  return typeof value === 'string' && value !== '' && Number.isFinite(Number(value)) ? Number(value) : undefined;
}

/** A map; `{}` if it is not a map. */
export function objectIn(from: Json | undefined, key: string): JsonObject {
  const value = isMap(from) ? from[key] : undefined;
  return isMap(value) ? value : {};
}

/** The maps of a list. */
export function objectsIn(from: JsonObject, key: string): JsonObject[] {
  const value = from[key];
  return Array.isArray(value) ? value.filter(isMap) : [];
}

/** The strings of a list. */
export function textsIn(from: JsonObject, key: string): string[] {
  const value = from[key];
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/** The entries of a map that are strings. */
export function textsOf(map: JsonObject): Record<string, string> {
  return Object.fromEntries(
    Object.entries(map).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}
