import type { Json, JsonObject } from '@nodepool/zk-protocol';

/**
 * Properties of an image as texts, which is all that clouds take. Booleans are `True` and `False`, as the original writes
 * them, so that images of either look alike to schedulers. Keys without a value are left out.
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
