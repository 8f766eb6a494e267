import type { Json, JsonObject } from '@nodepool/zk-protocol';

/** True for maps. */
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Both, the second one winning; maps within them are merged as well. `null` in the second one says nothing. */
export function mergeDeep(base: JsonObject, over: JsonObject): JsonObject {
  const merged: JsonObject = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const before = merged[key];
    if (isObject(before) && isObject(value)) merged[key] = mergeDeep(before, value);
    else if (value !== null || before === undefined) merged[key] = value;
  }
  return merged;
}

/** Both, the second one winning; only `auth` is merged key by key, as openstacksdk does it. */
export function overlay(base: JsonObject, over: JsonObject): JsonObject {
  const merged: JsonObject = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const before = merged[key];
    if (value === null) continue;
    merged[key] = key === 'auth' && isObject(before) && isObject(value) ? { ...before, ...value } : value;
  }
  return merged;
}

/** The same with `_` for `-` in all keys. */
export function normalizeKeys(value: Json): Json {
  if (Array.isArray(value)) return value.map((item) => normalizeKeys(item));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key.replaceAll('-', '_'), normalizeKeys(item)]),
  );
}

/** The same with `{region_name}` and the like replaced in all texts. */
export function fillIn(value: Json, values: Readonly<Record<string, string | undefined>>): Json {
  if (typeof value === 'string') {
    return value.replaceAll(/\{(\w+)\}/g, (text, name: string) => values[name] ?? text);
  }
  if (Array.isArray(value)) return value.map((item) => fillIn(item, values));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, key === 'password' ? item : fillIn(item, values)]),
  );
}
