import { type JsonSchema, STATE_MACHINE_SCHEMAS } from '@nodepool/core';

const count = { type: 'integer', minimum: 1 };
const seconds = { type: 'integer', minimum: 0, 'x-tolerates': { minimum: 'taken as 0' } };
const text = { type: 'string', minLength: 1 };
const { provider, label } = STATE_MACHINE_SCHEMAS;

/** One entry of `pools[].labels`. */
const labelSchema = {
  title: 'Label of slots',
  type: 'object',
  additionalProperties: false,
  required: ['name', 'backing-label'],
  properties: {
    name: label.name,
    'backing-label': {
      ...text,
      description: 'Label of another provider, whose nodes are divided into slots',
    },
    'max-parallel-jobs': { ...count, description: 'Slots of each backing node', default: 1 },
    'grace-time': {
      ...seconds,
      description: 'Time until a backing node without a slot in use is returned, in seconds',
      default: 60,
    },
    'min-retention-time': {
      ...seconds,
      description: 'Minimum time before a backing node is returned, in seconds',
      default: 0,
    },
    'max-age': {
      type: 'integer',
      minimum: 0,
      description: 'Age from which a backing node gets no more jobs, in seconds; 0: no limit',
      'x-default': 'no limit',
    },
    'host-key-checking': {
      type: 'boolean',
      description: 'Whether host keys are read each time a slot is assigned',
      'x-default': 'that of the pool',
    },
  },
};

const poolSchema = {
  title: 'Pool of slots',
  type: 'object',
  additionalProperties: false,
  required: ['name'],
  properties: {
    'max-servers': {
      type: 'integer',
      description: 'Maximum number of slots in use; 0 disables the pool',
      'x-default': 'no limit',
    },
    'host-key-checking': {
      type: 'boolean',
      description: 'Whether host keys are read each time a slot is assigned',
      default: false,
    },
    labels: { type: 'array', description: 'Labels that the slots serve', 'x-default': 'none', items: labelSchema },
  },
};

/** The driver's own keys of a provider entry. */
export const schema: JsonSchema = {
  title: 'Provider of slots',
  description: 'Divides nodes of other providers into slots',
  type: 'object',
  'x-ours': ['pools: required', 'pools[].labels: required'],
  'x-services-only': ['rate'],
  properties: {
    'boot-timeout': { ...provider['boot-timeout'], default: 120 },
    'launch-timeout': {
      ...provider['launch-timeout'],
      description: 'Time limit of one launch attempt, including the launch of a backing node, in seconds',
    },
    'launch-retries': provider['launch-retries'],
    rate: { type: 'number', description: 'Without effect; the driver calls no API', deprecated: true },
    pools: { type: 'array', description: 'Groups of labels', 'x-default': 'none', items: poolSchema },
  },
};
