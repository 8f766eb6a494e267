import { CERTIFICATE_MODES, listOf, mapOf, type Json, type JsonObject } from '@nodepool/zk-protocol';
import type { JsonSchema } from '../contract/driver.js';
import { flag, freeMap, integer, name } from './schema-parts.js';

/** Driver of an entry without `driver`. */
export const DEFAULT_DRIVER = 'openstack';

/** Keys of every provider entry. */
export const COMMON_PROVIDER_PROPERTIES = {
  name: name('Name of the provider, unique in the file'),
  driver: name('Driver that makes the nodes, found among the installed packages; `nodepool drivers` lists them', {
    default: DEFAULT_DRIVER,
  }),
  'lease-certificates': {
    type: 'string',
    enum: [...CERTIFICATE_MODES],
    description:
      'Whether the machines trust the SSH certificates that leases get with `lease-ca-key`: for their user (`user`), so that a ' +
      'certificate opens all machines with that user, or for `USER@HOST` (`host`), so that it opens one; see docs/leases.md',
    'x-default': 'none: leases of its nodes take no SSH key',
  },
  'lease-ssh-key': { type: 'string', description: 'Without effect', deprecated: true },
  'max-concurrency': integer('Ceiling of launches at a time; -1: none, 0: nothing is accepted', { default: -1 }),
  priority: integer('Place of the provider among others that can serve a request: the smaller goes first', {
    default: 100,
  }),
  steering: flag('Whether the provider is steered around while it fails; see docs/steering.md', {
    otherwise: '`steering` of the file',
  }),
} satisfies JsonObject;

/** Keys of every provider entry that the original does not have. */
export const COMMON_PROVIDER_OURS = ['lease-certificates', 'lease-ssh-key', 'steering'];

/** Keys of every `pools[]` entry. */
export const COMMON_POOL_PROPERTIES = {
  name: name('Name of the pool, unique in the provider'),
  'max-servers': integer('Ceiling of nodes at a time; 0 switches the pool off', { otherwise: 'no limit' }),
  'node-attributes': freeMap('Values stored with each node as `attributes`', true, {
    otherwise: 'none',
    examples: [{ 'executor-zone': 'vpn' }],
  }),
  priority: integer('Place of the pool among others that can serve a request: the smaller goes first', {
    otherwise: 'that of the provider',
  }),
} satisfies JsonObject;

/**
 * The full schema of a provider entry: the driver's own keys, the common keys of providers and of pools, and no others.
 * The schema of the driver takes precedence over the common one.
 */
export function composeProviderSchema(own: JsonSchema): JsonSchema {
  const properties: JsonObject = { ...COMMON_PROVIDER_PROPERTIES, ...mapOf(own['properties']) };
  if ('pools' in properties) properties['pools'] = withCommonPoolKeys(mapOf(properties['pools']));
  const required = new Set(['name', ...(Array.isArray(own['required']) ? own['required'] : [])]);
  const ours = [...COMMON_PROVIDER_OURS, ...listOf(own['x-ours'])];
  return closeSchema({ ...own, type: 'object', properties, required: [...required], 'x-ours': ours });
}

/** Schema of an entry that is not served, which only its driver can check. */
export const UNSERVED_PROVIDER_SCHEMA: JsonSchema = {
  type: 'object',
  required: ['name'],
  properties: { name: COMMON_PROVIDER_PROPERTIES.name, driver: COMMON_PROVIDER_PROPERTIES.driver },
};

/** Schema of an entry whose driver cannot be used: the common keys, and named labels in pools. */
export const ANY_PROVIDER_SCHEMA: JsonSchema = {
  type: 'object',
  required: ['name'],
  'x-ours': COMMON_PROVIDER_OURS,
  properties: {
    ...COMMON_PROVIDER_PROPERTIES,
    pools: {
      type: 'array',
      items: {
        type: 'object',
        required: ['name'],
        properties: {
          ...COMMON_POOL_PROPERTIES,
          labels: { type: 'array', items: { type: 'object', properties: { name: COMMON_POOL_PROPERTIES.name } } },
        },
      },
    },
    diskimages: { type: 'array', items: { type: 'object', properties: { name: COMMON_POOL_PROPERTIES.name } } },
  },
};

function withCommonPoolKeys(pools: JsonObject): JsonObject {
  const items = mapOf(pools['items']);
  return {
    ...pools,
    items: { ...items, properties: { ...COMMON_POOL_PROPERTIES, ...mapOf(items['properties']) } },
  };
}

/**
 * Forbids unknown keys in every map of the tree whose schema does not set `additionalProperties`. Visits descriptions of
 * values only, not conditions such as `oneOf`.
 */
export function closeSchema(schema: JsonSchema): JsonSchema {
  const closed: JsonObject = { ...schema };
  if ('properties' in schema) {
    closed['properties'] = mapValues(mapOf(schema['properties']), closeAny);
    closed['additionalProperties'] ??= false;
  }
  if ('patternProperties' in schema) {
    closed['patternProperties'] = mapValues(mapOf(schema['patternProperties']), closeAny);
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

function mapValues(object: JsonObject, change: (value: Json) => Json): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));
}
