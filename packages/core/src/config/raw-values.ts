import type { Json, JsonObject } from '@nodepool/zk-protocol';

/** Readers for values that may be missing or of a wrong type, which the schema check has reported by then. */
export function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

/** The value as a map; `{}` when it is none. */
export function mapOf(value: Json | undefined): JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {};
}

/** The value as text; `undefined` when it is none. */
export function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The value as a number; `undefined` when it is none. */
export function numberOf(value: Json | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** The texts of a list. */
export function textsOf(value: Json | undefined): string[] {
  return listOf(value).filter((item) => typeof item === 'string');
}

/** The list's named maps with their index: labels, diskimages, pools. */
export function namedEntries(
  value: Json | undefined,
  key = 'name',
): { index: number; name: string; entry: JsonObject }[] {
  return listOf(value).flatMap((item, index) => {
    const entry = mapOf(item);
    const name = textOf(entry[key]);
    return name === undefined ? [] : [{ index, name, entry }];
  });
}

/** As {@link namedEntries}, without those that do not count: of several with one name the last one does. */
export function countingEntries(value: Json | undefined): { index: number; name: string; entry: JsonObject }[] {
  return [...new Map(namedEntries(value).map((item) => [item.name, item])).values()];
}
