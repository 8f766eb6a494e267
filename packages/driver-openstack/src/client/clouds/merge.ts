import { isMap, type Json, type JsonObject } from '@nodepool/zk-protocol';

/** Merges maps recursively; the second one wins, except for `null`. */
export function mergeDeep(base: JsonObject, over: JsonObject): JsonObject {
  const merged: JsonObject = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const before = merged[key];
    if (isMap(before) && isMap(value)) merged[key] = mergeDeep(before, value);
    else if (value !== null || before === undefined) merged[key] = value;
  }
  return merged;
}

/** Merges maps; the second one wins. Only `auth` is merged by key, as in openstacksdk. */
export function overlay(base: JsonObject, over: JsonObject): JsonObject {
  const merged: JsonObject = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const before = merged[key];
    if (value === null) continue;
    merged[key] = key === 'auth' && isMap(before) && isMap(value) ? { ...before, ...value } : value;
  }
  return merged;
}

/** Replaces `-` by `_` in all keys. */
export function normalizeKeys(value: Json): Json {
  if (Array.isArray(value)) return value.map((item) => normalizeKeys(item));
  if (!isMap(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key.replaceAll('-', '_'), normalizeKeys(item)]),
  );
}

/** Replaces `{region_name}` and other fields in all strings. */
export function fillIn(value: Json, values: Readonly<Record<string, string | undefined>>): Json {
  if (typeof value === 'string') {
    return value.replaceAll(/\{(\w+)\}/g, (text, name: string) => values[name] ?? text);
  }
  if (Array.isArray(value)) return value.map((item) => fillIn(item, values));
  if (!isMap(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, key === 'password' ? item : fillIn(item, values)]),
  );
}
