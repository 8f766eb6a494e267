import { listOf, mapOf, textOf, type Json, type JsonObject } from '@nodepool/zk-protocol';

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
