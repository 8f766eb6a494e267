import type { Json, JsonObject } from '@nodepool/zk-protocol';

/** Readers for values of an entry that has passed the schema. */
export function textOr<T extends string | null | undefined>(value: Json | undefined, fallback: T): string | T {
  return typeof value === 'string' ? value : fallback;
}

/** The value as a number. */
export function numberOr(value: Json | undefined, fallback: number): number {
  return typeof value === 'number' ? value : fallback;
}

/** The value as a map; `{}` if it is not a map. */
export function objectOr(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}

/** The maps of a list. */
export function objectsOf(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** The strings of a list. */
export function textsOf(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/** The values of a map as strings; other values as JSON. */
export function textValues(values: JsonObject): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
}

/** Extends the entries that core has read with the keys of this driver. */
export function completed<Common, Own extends Common>(
  list: Json | undefined,
  common: ReadonlyMap<string, Common>,
  complete: (known: Common, entry: JsonObject) => Own,
): Map<string, Own> {
  return new Map(
    objectsOf(list).flatMap((entry): [string, Own][] => {
      const name = textOr(entry['name'], '');
      const known = common.get(name);
      return known === undefined ? [] : [[name, complete(known, entry)]];
    }),
  );
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
