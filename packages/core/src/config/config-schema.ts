import { mapOf, type Json, type JsonObject } from '@nodepool/zk-protocol';
import type { Driver, JsonSchema } from '../contract/driver.js';
import { ANY_PROVIDER_SCHEMA, COMMON_PROVIDER_PROPERTIES, DEFAULT_DRIVER } from './compose-schema.js';
import { providerSchema } from './provider-schema.js';
import { TOP_LEVEL_SCHEMA } from './top-level-schema.js';

/**
 * One JSON schema (draft-07) of a whole `nodepool.yaml`, for editors: the top level, and a definition of the
 * provider entries of each driver. Entries of other drivers are checked for the common keys.
 * @param drivers - available drivers, each once
 */
export function composeConfigSchema(drivers: readonly Driver[]): JsonSchema {
  const properties = mapOf(TOP_LEVEL_SCHEMA['properties']);
  const schema: JsonSchema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    ...TOP_LEVEL_SCHEMA,
    properties: { ...properties, providers: { ...mapOf(properties['providers']), items: providerItems(drivers) } },
    definitions: Object.fromEntries(drivers.map((driver) => [definitionOf(driver), providerDefinition(driver)])),
  };
  return rewritten(schema, forEditors);
}

/** Selects the schema of an entry by its driver, so that an editor offers only the keys of that driver. */
function providerItems(drivers: readonly Driver[]): JsonObject {
  const { name, driver: anyName } = COMMON_PROVIDER_PROPERTIES;
  const names = drivers.map((driver) => driver.name);
  return {
    title: 'Provider',
    type: 'object',
    required: ['name'],
    properties: {
      name,
      driver: { ...anyName, ...(names.length > 0 && { anyOf: [{ enum: names }, { type: 'string' }] }) },
    },
    allOf: [
      ...drivers.map((driver) => ({
        if: namesDriver(driver),
        then: { $ref: `#/definitions/${definitionOf(driver)}` },
      })),
      ...(names.length > 0
        ? [{ if: { not: { anyOf: drivers.map(namesDriver) } }, then: ANY_PROVIDER_SCHEMA }]
        : [ANY_PROVIDER_SCHEMA]),
    ],
  };
}

/** Condition that an entry uses the driver. An entry without `driver` uses the default one. */
function namesDriver({ name }: Driver): JsonObject {
  const isNamed = { required: ['driver'], properties: { driver: { const: name } } };
  return name === DEFAULT_DRIVER ? { anyOf: [isNamed, { not: { required: ['driver'] } }] } : isNamed;
}

function definitionOf({ name }: Driver): string {
  return `provider-${name}`;
}

/** Provider schema of a driver, with internal references relocated. */
function providerDefinition(driver: Driver): JsonObject {
  const top = `#/definitions/${definitionOf(driver)}`;
  return rewritten(providerSchema(driver), (schema) => {
    const { $ref: reference } = schema;
    const isOwn = typeof reference === 'string' && reference.startsWith('#');
    return isOwn ? { ...schema, $ref: `${top}${reference.slice(1)}` } : schema;
  });
}

/** Adapts a schema for editors: moves textual defaults to the description, and removes deprecated names. */
function forEditors(schema: JsonObject): JsonObject {
  const { description, deprecated, 'x-default': otherwise } = schema;
  if (typeof description !== 'string') return schema;
  if (deprecated === true) return { ...schema, deprecationMessage: description, doNotSuggest: true };
  return typeof otherwise === 'string' ? { ...schema, description: `${description}. Default: ${otherwise}` } : schema;
}

function rewritten(schema: JsonObject, change: (schema: JsonObject) => JsonObject): JsonObject {
  const below = Object.entries(schema).map(([key, value]): [string, Json] => [key, rewrittenValue(value, change)]);
  return change(Object.fromEntries(below));
}

function rewrittenValue(value: Json, change: (schema: JsonObject) => JsonObject): Json {
  if (Array.isArray(value)) return value.map((item) => rewrittenValue(item, change));
  return value !== null && typeof value === 'object' ? rewritten(value, change) : value;
}
