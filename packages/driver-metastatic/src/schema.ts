import type { JsonSchema } from '@nodepool/core';

const count = { type: 'integer', minimum: 1 };
const seconds = { type: 'integer', minimum: 0 };

/** One entry of `pools[].labels`. */
const labelSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['name', 'backing-label'],
  properties: {
    name: { type: 'string', minLength: 1 },
    'backing-label': { type: 'string', minLength: 1 },
    'max-parallel-jobs': count,
    'grace-time': seconds,
    'min-retention-time': seconds,
    'max-age': count,
    'host-key-checking': { type: 'boolean' },
  },
};

const poolSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['name', 'labels'],
  properties: {
    name: { type: 'string', minLength: 1 },
    'max-servers': { type: 'integer' },
    priority: { type: 'integer' },
    'node-attributes': { type: 'object' },
    'host-key-checking': { type: 'boolean' },
    labels: { type: 'array', items: labelSchema },
  },
};

/** The driver's own keys of a provider entry. */
export const schema: JsonSchema = {
  type: 'object',
  required: ['pools'],
  properties: {
    'boot-timeout': count,
    'launch-timeout': count,
    'launch-retries': count,
    rate: { type: 'number' },
    pools: { type: 'array', items: poolSchema },
  },
};
