import type { JsonSchema } from '@nodepool/core';
import type { JsonObject } from '@nodepool/zk-protocol';
import { FAILURES, TIMES } from './cloud/settings.js';

const text = { type: 'string', minLength: 1 };
const texts = { type: 'array', items: text };
const flag = { type: 'boolean' };
const count = { type: 'integer' };
const limit = { type: 'integer', minimum: -1 };
const seconds = { type: 'number', minimum: 0 };
const map = { type: 'object' };

/** An object with these keys and no others. */
function object(properties: JsonObject, required: string[] = []): JsonObject {
  return { type: 'object', additionalProperties: false, required, properties };
}

const connection = {
  'config-drive': flag,
  'connection-type': text,
  'connection-port': { type: 'integer', minimum: 1, maximum: 65535 },
};

const diskimage = object({ name: text, pause: flag, meta: map, ...connection }, ['name']);

const cloudImage = {
  ...object(
    {
      ...{ name: text, 'image-id': text, 'image-name': text },
      ...{ username: text, 'python-path': text, 'shell-type': text },
      ...connection,
    },
    ['name'],
  ),
  not: { required: ['image-id', 'image-name'] },
};

const label = {
  ...object(
    {
      ...{ name: text, diskimage: text, 'cloud-image': text },
      ...{ 'min-ram': { type: 'integer', minimum: 0 }, 'flavor-name': text },
      ...{ 'key-name': text, 'console-log': flag, userdata: { type: 'string' }, networks: texts },
      ...{ 'boot-from-volume': flag, 'volume-size': { type: 'integer', minimum: 1 } },
      ...{ 'instance-properties': map, 'dynamic-instance-properties': map, 'host-key-checking': flag },
    },
    ['name'],
  ),
  oneOf: [{ required: ['diskimage'] }, { required: ['cloud-image'] }],
  anyOf: [{ required: ['min-ram'] }, { required: ['flavor-name'] }],
};

const pool = object(
  {
    ...{ name: text, 'max-servers': count, priority: count, 'node-attributes': map, 'ignore-provider-quota': flag },
    ...{ 'max-cores': limit, 'max-ram': limit, 'max-volumes': limit, 'max-volume-gb': limit },
    ...{ 'availability-zones': texts, networks: texts, 'security-groups': texts },
    ...{ 'auto-floating-ip': flag, 'host-key-checking': flag, labels: { type: 'array', items: label } },
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
    ...{ cloud: text, 'region-name': text, 'nodepool-id': text, rate: seconds },
    ...{ 'boot-timeout': seconds, 'launch-timeout': seconds, 'launch-retries': { type: 'integer', minimum: 1 } },
    ...{ 'image-name-format': text, 'post-upload-hook': text, 'image-upload-timeout': seconds },
    ...{ 'clean-floating-ips': flag, 'port-cleanup-interval': seconds },
    diskimages: { type: 'array', items: diskimage },
    'cloud-images': { type: 'array', items: cloudImage },
    pools: { type: 'array', items: pool },
    'cloud-settings': cloudSettings,
  },
};
