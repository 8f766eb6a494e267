import { type JsonSchema, STATE_MACHINE_SCHEMAS } from '@nodepool/core';
import type { JsonObject } from '@nodepool/zk-protocol';
import { FAILURES, TIMES } from './cloud/settings.js';

const text = { type: 'string', minLength: 1 };
const texts = { type: 'array', items: text };
const flag = { type: 'boolean' };
const limit = { type: 'integer', minimum: -1 };
const seconds = { type: 'number', minimum: 0 };
const timeout = { type: 'number', exclusiveMinimum: 0 };
const map = { type: 'object' };

/** An object with these keys and no others. */
function object(properties: JsonObject, required: string[] = []): JsonObject {
  return { type: 'object', additionalProperties: false, required, properties };
}

// What openstack does not have is not for its stand-in either.
const { key: _key, ...usualImage } = STATE_MACHINE_SCHEMAS.cloudImage;
const { 'use-internal-ip': _internal, ...usualPool } = STATE_MACHINE_SCHEMAS.pool;
const configDrive = { 'config-drive': flag };

const diskimage = object({ ...STATE_MACHINE_SCHEMAS.diskimage, ...configDrive }, ['name']);

const cloudImage = {
  ...object({ ...usualImage, ...configDrive, 'image-id': text, 'image-name': text }, ['name']),
  not: { required: ['image-id', 'image-name'] },
};

const label = {
  ...object(
    {
      ...STATE_MACHINE_SCHEMAS.label,
      ...STATE_MACHINE_SCHEMAS.diskimageLabel,
      ...{ 'min-ram': { type: 'integer', minimum: 0 }, 'flavor-name': text },
      ...{ 'key-name': text, userdata: { type: 'string' }, networks: texts },
      ...{ 'boot-from-volume': flag, 'volume-size': { type: 'integer', minimum: 1 } },
      ...{ 'instance-properties': map, 'dynamic-instance-properties': map },
    },
    ['name'],
  ),
  oneOf: [{ required: ['diskimage'] }, { required: ['cloud-image'] }],
  anyOf: [{ required: ['min-ram'] }, { required: ['flavor-name'] }],
};

const pool = object(
  {
    ...usualPool,
    ...{ networks: texts, 'security-groups': texts, 'auto-floating-ip': flag },
    labels: { type: 'array', items: label },
  },
  ['name', 'labels'],
);

const distribution = {
  oneOf: [
    seconds,
    object({ uniform: { type: 'array', items: seconds, minItems: 2, maxItems: 2 } }, ['uniform']),
    object({ exponential: seconds }, ['exponential']),
  ],
};

const ssh = {
  oneOf: [
    flag,
    object({
      enabled: flag,
      address: text,
      'host-keys': { enum: ['shared', 'per-instance'] },
      'authorized-keys': texts,
    }),
  ],
};

const rate = { type: 'number', minimum: 0, maximum: 1 };

const cloudSettings = object({
  ...{ 'state-dir': text, listen: text, 'upload-images': flag },
  ...Object.fromEntries(TIMES.map((name) => [name, distribution])),
  failures: object(Object.fromEntries(FAILURES.map((name) => [name, rate]))),
  quota: object({ instances: limit, cores: limit, ram: limit }),
  'availability-zones': texts,
  flavors: {
    type: 'array',
    items: object({ name: text, ram: { type: 'integer', minimum: 0 }, cores: { type: 'integer', minimum: 0 } }, [
      'name',
      'ram',
    ]),
  },
  images: texts,
  ssh,
});

/** The driver's own keys of a provider entry: those of the openstack driver, and `cloud-settings`. */
export const schema: JsonSchema = {
  type: 'object',
  required: ['pools'],
  properties: {
    ...STATE_MACHINE_SCHEMAS.provider,
    ...{ 'boot-timeout': timeout, 'launch-timeout': timeout, 'image-upload-timeout': timeout },
    ...{ cloud: text, 'region-name': text, 'nodepool-id': text },
    ...{ 'image-name-format': text, 'post-upload-hook': text },
    ...{ 'clean-floating-ips': flag, 'port-cleanup-interval': seconds },
    diskimages: { type: 'array', items: diskimage },
    'cloud-images': { type: 'array', items: cloudImage },
    pools: { type: 'array', items: pool },
    'cloud-settings': cloudSettings,
  },
};
