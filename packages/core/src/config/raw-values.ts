import type { Json, JsonObject } from '@nodepool/zk-protocol';

/** The value as a list; `[]` otherwise. The schema check reports wrong types before these readers run. */
export function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

/** The value as a map; `{}` otherwise. */
export function mapOf(value: Json | undefined): JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {};
}

/** The value as text; `undefined` otherwise. */
export function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The value as a number; `undefined` otherwise. */
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

/** As {@link namedEntries}, with only the last entry of each name. */
export function countingEntries(value: Json | undefined): { index: number; name: string; entry: JsonObject }[] {
  return [...new Map(namedEntries(value).map((item) => [item.name, item])).values()];
}
