import { listOf, mapOf, type Json, type JsonObject } from '@nodepool/zk-protocol';
import type { JsonSchema } from '../contract/driver.js';

/** Replacement of a secret. */
export const REDACTED = '[redacted]';

/** Copies a configuration value and replaces values marked `"x-secret": true` in the schema by `[redacted]`. */
export function redactConfig(entry: JsonObject, schema: JsonSchema): JsonObject {
  return mapOf(redact(entry, [schema]));
}

/** @param schemas - all schemas of the value; a single one can mark it secret */
function redact(value: Json, schemas: readonly JsonObject[]): Json {
  const all = schemas.flatMap(withAlternatives);
  if (all.some((schema) => schema['x-secret'] === true)) return REDACTED;
  if (Array.isArray(value)) {
    return value.map((item, index) =>
      redact(
        item,
        all.flatMap((schema) => itemSchemas(schema, index)),
      ),
    );
  }
  if (value === null || typeof value !== 'object') return value;
  const pairs = Object.entries(value).map(([key, item]) => {
    const below = all.flatMap((schema) => propertySchemas(schema, key));
    return [key, redact(item, below)] as const;
  });
  return Object.fromEntries(pairs);
}

function withAlternatives(schema: JsonObject): JsonObject[] {
  const branches = ['allOf', 'anyOf', 'oneOf'].flatMap((key) => listOf(schema[key]));
  const conditional = ['then', 'else'].flatMap((key) => (key in schema ? [schema[key] ?? null] : []));
  return [schema, ...[...branches, ...conditional].flatMap((branch) => withAlternatives(mapOf(branch)))];
}

function itemSchemas(schema: JsonObject, index: number): JsonObject[] {
  const { items } = schema;
  return [mapOf(Array.isArray(items) ? items[index] : items)];
}

function propertySchemas(schema: JsonObject, key: string): JsonObject[] {
  const properties = mapOf(schema['properties']);
  const named = Object.hasOwn(properties, key) ? [mapOf(properties[key])] : [];
  const patterns = Object.entries(mapOf(schema['patternProperties']))
    .filter(([pattern]) => new RegExp(pattern, 'u').test(key))
    .map(([, found]) => mapOf(found));
  const found = [...named, ...patterns];
  return found.length > 0 ? found : [mapOf(schema['additionalProperties'])];
}
