import type { Json, JsonObject } from '@nodepool/zk-protocol';
import type { JsonSchema } from '../driver/types.js';

/** Keys every provider entry may have. */
export const COMMON_PROVIDER_PROPERTIES = {
  name: { type: 'string', minLength: 1 },
  driver: { type: 'string', minLength: 1 },
  'max-concurrency': { type: 'integer' },
  priority: { type: 'integer' },
} as const satisfies JsonObject;

/** Keys every `pools[]` entry may have. */
export const COMMON_POOL_PROPERTIES = {
  name: { type: 'string', minLength: 1 },
  'max-servers': { type: 'integer' },
  'node-attributes': { type: 'object', additionalProperties: true },
  priority: { type: 'integer' },
} as const satisfies JsonObject;

/**
 * The full schema of a provider entry: the driver's own keys, the common keys of providers and of pools, and no others.
 * What the driver says about a key goes before the common meaning.
 */
export function composeProviderSchema(own: JsonSchema): JsonSchema {
  const properties: JsonObject = { ...COMMON_PROVIDER_PROPERTIES, ...asObject(own['properties']) };
  if ('pools' in properties) properties['pools'] = withCommonPoolKeys(asObject(properties['pools']));
  const required = new Set(['name', ...(Array.isArray(own['required']) ? own['required'] : [])]);
  return closeSchema({ ...own, type: 'object', properties, required: [...required] });
}

function withCommonPoolKeys(pools: JsonObject): JsonObject {
  const items = asObject(pools['items']);
  return {
    ...pools,
    items: { ...items, properties: { ...COMMON_POOL_PROPERTIES, ...asObject(items['properties']) } },
  };
}

/**
 * Forbids keys a map's schema does not name, in the whole tree, unless a map says `additionalProperties` itself. Only
 * goes where values are described, not into conditions such as `oneOf`.
 */
export function closeSchema(schema: JsonSchema): JsonSchema {
  const closed: JsonObject = { ...schema };
  if ('properties' in schema) {
    closed['properties'] = mapValues(asObject(schema['properties']), closeAny);
    closed['additionalProperties'] ??= false;
  }
  if ('patternProperties' in schema) {
    closed['patternProperties'] = mapValues(asObject(schema['patternProperties']), closeAny);
  }
  if ('items' in schema) closed['items'] = closeAny(schema['items'] ?? true);
  const additional = closed['additionalProperties'];
  if (additional !== undefined && additional !== null) closed['additionalProperties'] = closeAny(additional);
  return closed;
}

function closeAny(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(closeAny);
  return schema !== null && typeof schema === 'object' ? closeSchema(schema) : schema;
}

function asObject(value: Json | undefined): JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {};
}

function mapValues(object: JsonObject, change: (value: Json) => Json): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));
}
