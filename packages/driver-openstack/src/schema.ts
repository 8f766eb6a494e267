import { STATE_MACHINE_SCHEMAS, type JsonSchema } from '@nodepool/core';
import type { JsonObject } from '@nodepool/zk-protocol';

const text = { type: 'string', minLength: 1 };
const texts = { type: 'array', items: text };
/** Maps as in files of 2016. */
const networks = { type: 'array', items: { ...text, 'x-tolerates': { type: 'its name or id counts' } } };
const flag = { type: 'boolean' };
const map = { type: 'object' };

/** Schema of an object with no other keys than these. */
function object(title: string, properties: JsonObject, required: string[] = []): JsonObject {
  return { title, type: 'object', additionalProperties: false, required, properties };
}

/** Schema of a key with its description and default. */
function key(kind: JsonObject, description: string, otherwise: string | number | boolean): JsonObject {
  const isExact = typeof otherwise !== 'string';
  return { ...kind, description, ...(isExact ? { default: otherwise } : { 'x-default': otherwise }) };
}

const { key: _key, ...usualImage } = STATE_MACHINE_SCHEMAS.cloudImage;
const configDrive = { 'config-drive': key(flag, 'Whether servers get a config drive', 'not asked for') };

const diskimage = object('Diskimage of OpenStack', { ...STATE_MACHINE_SCHEMAS.diskimage, ...configDrive }, ['name']);

const cloudImage = {
  ...object(
    'Image of OpenStack',
    {
      ...usualImage,
      ...configDrive,
      'image-id': key(text, 'Id of the image, taken without asking the cloud', 'none'),
      'image-name': key(
        text,
        'Name or id of an active image; of several with one name the newest is used',
        'its `name`',
      ),
    },
    ['name'],
  ),
  not: { required: ['image-id', 'image-name'] },
  'x-tolerates': { not: 'the image-id counts' },
};

const label = {
  ...object(
    'Label of OpenStack',
    {
      ...STATE_MACHINE_SCHEMAS.label,
      ...STATE_MACHINE_SCHEMAS.diskimageLabel,
      'min-ram': key(
        { type: 'integer', minimum: 0, 'x-tolerates': { minimum: 'any flavor serves' } },
        'Memory that is needed, in MiB: the smallest flavor that has it',
        0,
      ),
      'flavor-name': key(text, 'Name or id of the flavor; beside `min-ram` a part of its name', 'any'),
      'key-name': key(text, 'Key pair for servers', 'none'),
      networks: key(
        networks,
        'Names or ids of networks, instead of those of the pool; `[]`: none of these',
        'those of the pool',
      ),
      userdata: key({ type: 'string', 'x-secret': true }, 'User data for cloud-init', 'none'),
      'boot-from-volume': key(flag, 'Whether servers boot from a new volume, which goes with them', false),
      'volume-size': key(
        { type: 'integer', minimum: 1, 'x-tolerates': { minimum: 'the cloud will refuse it' } },
        'Size of that volume, in GB',
        50,
      ),
      'volume-type': key(text, 'Type of that volume; needs version 2.67 of the compute API', 'that of the cloud'),
      'server-group': key(text, 'Name or id of a server group', 'none'),
      'instance-properties': key(map, 'Further metadata of servers', 'none'),
      'dynamic-instance-properties': key(map, 'Further metadata, with `{request.id}` and the like filled in', 'none'),
      'host-keys-from-console': key(
        flag,
        'Whether only the host keys that cloud-init prints on the console are right',
        false,
      ),
    },
    ['name'],
  ),
  oneOf: [{ required: ['diskimage'] }, { required: ['cloud-image'] }],
  anyOf: [{ required: ['min-ram'] }, { required: ['flavor-name'] }],
  'x-tolerates': {
    oneOf: 'of both the diskimage counts, and without either nothing can be launched',
    anyOf: 'the smallest flavor serves',
  },
};

const zone = { oneOf: [text, { type: 'null' }] };

const pool = object(
  'Pool of OpenStack',
  {
    ...STATE_MACHINE_SCHEMAS.pool,
    networks: key(
      networks,
      'Names or ids of networks',
      'the default interface of `clouds.yaml`, else what Nova chooses',
    ),
    'security-groups': key(texts, 'Names of security groups', "Nova's default"),
    'auto-floating-ip': key(flag, 'Whether servers without a public address get a floating IP', true),
    'floating-ip-pool': key(text, 'Network that floating IPs come from', 'the external one'),
    'availability-zones': key(
      { type: 'array', items: zone },
      'Zones to choose from; `[null]` lets Nova choose',
      'those of the cloud',
    ),
    labels: key({ type: 'array', items: label }, 'Labels of the pool', 'none'),
  },
  ['name'],
);

/** The driver's own keys of a provider entry. */
export const schema: JsonSchema = {
  title: 'Provider of OpenStack',
  type: 'object',
  'x-ours': [
    ...['pools[].use-internal-ip', 'pools[].floating-ip-pool', 'pools[].labels[].volume-type'],
    ...['pools[].labels[].server-group', 'pools[].labels[].host-keys-from-console'],
  ],
  required: ['cloud'],
  properties: {
    ...STATE_MACHINE_SCHEMAS.provider,
    cloud: { ...text, description: 'Cloud in `clouds.yaml`' },
    rate: key(
      { type: 'number', minimum: 0, 'x-numeric-text': true, 'x-tolerates': { minimum: 'no limit' } },
      'Seconds between two calls to one service; 0: no limit',
      1,
    ),
    'region-name': key(text, 'Region', 'that of the cloud'),
    'nodepool-id': key({ type: 'string' }, 'Without effect: accepted, as the original has it', 'none'),
    'image-name-format': key(text, 'Name of uploaded images', '`{image_name}-{timestamp}`'),
    'post-upload-hook': key(text, 'Program that the builder runs after an upload', 'none'),
    'image-upload-timeout': key(
      { type: 'integer', minimum: 1, 'x-tolerates': { minimum: 'each upload fails at once' } },
      'Time limit of an upload, in seconds',
      3_600,
    ),
    'clean-floating-ips': key(
      flag,
      'Whether every unattached floating IP of the project is deleted, of any owner',
      false,
    ),
    'port-cleanup-interval': key(
      { type: 'integer', minimum: 0, 'x-tolerates': { minimum: 'no port is deleted' } },
      'How long a port of a former server of ours is down before it is deleted, in seconds; 0: it never is',
      600,
    ),
    diskimages: key({ type: 'array', items: diskimage }, 'Images that the builder uploads', 'none'),
    'cloud-images': key({ type: 'array', items: cloudImage }, 'Images that are in the cloud', 'none'),
    pools: key({ type: 'array', items: pool }, 'Pools of the provider', 'none'),
  },
};
