import { isMap } from '@nodepool/zk-protocol';
import type { Json, JsonObject, JsonSchema } from '@nodepool/core';
import { COMPUTE_V1 } from './compute-v1.js';

/** Fields that the driver or the service sets. */
const RESERVED_FIELDS = ['name', 'zone', 'machineType', 'id', 'kind', 'selfLink', 'status', 'creationTimestamp'];

/** Schema of `instance-overrides`: the body of an insert without reserved fields. */
export const OVERRIDES_SCHEMA: JsonSchema = { $ref: '#/definitions/InstanceOverrides' };

/** Definitions that the schema refers to: Google's messages. */
export const OVERRIDES_DEFINITIONS: JsonObject = (() => {
  const definitions = closureOf('Instance');
  const { properties } = definitions['Instance'] as { properties: JsonObject };
  const kept = Object.entries(properties).filter(([name]) => !RESERVED_FIELDS.includes(name));
  const schema = { type: 'object', additionalProperties: false, properties: Object.fromEntries(kept) };
  return { ...definitions, InstanceOverrides: schema };
})();

/** Merges maps by key; replaces other values, including lists. */
export function merge(base: JsonObject, overrides: JsonObject): JsonObject {
  const merged: JsonObject = { ...base };
  for (const [key, value] of Object.entries(overrides)) {
    const below = merged[key];
    merged[key] = isMap(below) && isMap(value) ? merge(below, value) : value;
  }
  return merged;
}

/** A definition with all its references. */
function closureOf(name: string): JsonObject {
  const found = new Map<string, Json>();
  const visit = (one: string) => {
    const definition = COMPUTE_V1.definitions[one];
    if (found.has(one) || definition === undefined) return;
    found.set(one, definition);
    for (const [, below = ''] of JSON.stringify(definition).matchAll(/#\/definitions\/(\w+)/g)) visit(below);
  };
  visit(name);
  return Object.fromEntries(found);
}
