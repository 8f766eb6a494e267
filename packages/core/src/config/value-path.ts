import type { Json, JsonObject } from '@nodepool/zk-protocol';
import type { YamlPath } from '../contract/yaml-path.js';

/** The value at a path; `undefined` if there is none. */
export function valueAt(root: Json | undefined, path: YamlPath): Json | undefined {
  let value = root;
  for (const part of path) {
    value = value !== null && typeof value === 'object' ? (value as JsonObject)[part] : undefined;
  }
  return value;
}

/** Converts a JSON pointer to a path: digits are indexes in lists and keys in maps. */
export function pointerToPath(root: Json, pointer: string): (string | number)[] {
  const path: (string | number)[] = [];
  let value: Json | undefined = root;
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    path.push(Array.isArray(value) ? Number(key) : key);
    value = valueAt(value, [key]);
  }
  return path;
}
