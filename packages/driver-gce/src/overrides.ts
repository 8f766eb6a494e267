import type { Json, JsonObject, JsonSchema } from '@nodepool/core';
import { COMPUTE_V1 } from './compute-v1.js';

/** What the driver says itself of each instance, and what only the service may say. */
const NOT_TO_BE_SET = ['name', 'zone', 'machineType', 'id', 'kind', 'selfLink', 'status', 'creationTimestamp'];

/** Schema of `instance-overrides`: the body of an insert, without what the driver says itself. */
export const OVERRIDES_SCHEMA: JsonSchema = { $ref: '#/definitions/InstanceOverrides' };

/** What the schema of a provider has to define for it: Google's messages. */
export const OVERRIDES_DEFINITIONS: JsonObject = (() => {
  const definitions = closureOf('Instance');
  const { properties } = definitions['Instance'] as { properties: JsonObject };
  const kept = Object.entries(properties).filter(([name]) => !NOT_TO_BE_SET.includes(name));
  const schema = { type: 'object', additionalProperties: false, properties: Object.fromEntries(kept) };
  return { ...definitions, InstanceOverrides: schema };
})();

/** Maps are merged key by key; anything else, lists too, is replaced. */
export function merge(base: JsonObject, overrides: JsonObject): JsonObject {
  const merged: JsonObject = { ...base };
  for (const [key, value] of Object.entries(overrides)) {
    const below = merged[key];
    merged[key] = isMap(below) && isMap(value) ? merge(below, value) : value;
  }
  return merged;
}

function isMap(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A definition with all that it refers to. */
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
