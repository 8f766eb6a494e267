import type { Json, JsonObject } from '@nodepool/zk-protocol';

/**
 * Converts properties of an image to text, the only type that clouds accept. Booleans become `True` and `False` as in
 * Nodepool (Python), so that schedulers treat images of both alike. Omits keys without a value.
 */
export function propertyTexts(properties: JsonObject): Record<string, string> {
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, value]) => (value === null ? [] : [[name, propertyText(value)]])),
  );
}

function propertyText(value: Json): string {
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
