import type { JsonSchema } from '@nodepool/core';

const textOrTexts = { type: ['string', 'array'], items: { type: 'string' } };

/** One entry of `pools[].nodes`: a host. */
const nodeSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['name', 'labels'],
  properties: {
    name: { type: 'string', minLength: 1 },
    labels: textOrTexts,
    username: { type: 'string' },
    timeout: { type: 'integer', minimum: 1 },
    'host-key-checking': { type: 'boolean' },
    'host-key': textOrTexts,
    'connection-port': { type: 'integer', minimum: 1, maximum: 65535 },
    'ssh-port': { type: 'integer', minimum: 1, maximum: 65535 },
    'connection-type': { type: 'string' },
    'shell-type': { type: 'string' },
    'python-path': { type: 'string' },
    'max-parallel-jobs': { type: 'integer', minimum: 0 },
  },
};

const poolSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['name', 'nodes'],
  properties: {
    name: { type: 'string', minLength: 1 },
    'max-servers': { type: 'integer' },
    priority: { type: 'integer' },
    'node-attributes': { type: 'object' },
    nodes: { type: 'array', items: nodeSchema },
  },
};

/** The driver's own keys of a provider entry. */
export const schema: JsonSchema = {
  type: 'object',
  properties: { pools: { type: 'array', items: poolSchema } },
};
