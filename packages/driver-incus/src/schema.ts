import { type JsonObject, type JsonSchema, STATE_MACHINE_SCHEMAS } from '@nodepool/core';

const text = { type: 'string', minLength: 1 };
const texts = { type: 'array', items: text };
const flag = { type: 'boolean' };
const count = { type: 'integer', minimum: 1, 'x-tolerates': { minimum: 'the server refuses it' } };
const type = { enum: ['container', 'virtual-machine'] };
/** The API takes all values as text. */
const values = { type: 'object', additionalProperties: { type: ['string', 'number', 'boolean'] } };

/** An object with these keys and no others. */
function object(title: string, properties: JsonObject, required: string[] = []): JsonObject {
  return { type: 'object', title, additionalProperties: false, required, properties };
}

/** Schema of a key with its description and default. */
function key(kind: JsonObject, description: string, otherwise: string | number | boolean): JsonObject {
  const isExact = typeof otherwise !== 'string';
  return { ...kind, description, ...(isExact ? { default: otherwise } : { 'x-default': otherwise }) };
}

const { key: _key, ...usualImage } = STATE_MACHINE_SCHEMAS.cloudImage;
const { 'max-volumes': _volumes, 'max-volume-gb': _gb, ...usualPool } = STATE_MACHINE_SCHEMAS.pool;
const { 'availability-zones': _zones, 'use-internal-ip': _internal, ...pool } = usualPool;

const cloudImage = object(
  'Cloud image',
  {
    ...usualImage,
    'image-alias': key(text, 'Alias of the image', 'its `name`'),
    'image-fingerprint': key(text, 'Fingerprint of the image, instead of an alias', 'none'),
    'image-server': {
      ...key(text, 'Address of the remote server that has the image', 'the image is local'),
      examples: ['https://images.linuxcontainers.org'],
    },
    'image-protocol': key(
      { enum: ['simplestreams', 'incus', 'lxd'] },
      'Protocol of the remote server',
      'simplestreams',
    ),
  },
  ['name'],
);

/** Keys of the provider that pools and labels may override. */
const places = (otherwise: string): JsonObject => ({
  'storage-pool': key(text, 'Storage pool of root disks', otherwise),
  network: key(text, 'Network of `eth0`', otherwise),
});

const label: JsonObject = {
  ...object(
    'Label',
    {
      ...STATE_MACHINE_SCHEMAS.label,
      ...STATE_MACHINE_SCHEMAS.diskimageLabel,
      ...places('that of the pool'),
      'clone-from': {
        ...key(text, 'Instance or snapshot that nodes are copies of', 'none'),
        examples: ['golden/ready'],
      },
      username: key(
        { ...text, pattern: STATE_MACHINE_SCHEMAS.cloudImage.username.pattern },
        'Login of copies of `clone-from`; images have their own',
        'none',
      ),
      type: key(type, 'Type of instances', 'that of the provider'),
      cpu: key(count, 'Limit of CPUs', 'no limit'),
      memory: key(count, 'Limit of memory, in MiB', 'no limit'),
      disk: key(count, 'Size of the root disk, in GiB; needs a `storage-pool`', 'that of the profile'),
      profiles: key(texts, 'Profiles, in order; `[]`: none', '`[default]`'),
      devices: {
        ...key({ type: 'object', additionalProperties: values }, 'Devices, by name', 'those of the profiles'),
        examples: [{ gpu: { type: 'gpu' } }],
      },
      config: {
        ...key(values, 'Configuration keys of instances', 'none'),
        examples: [{ 'limits.processes': 1000 }],
      },
      'user-data': key({ type: 'string', 'x-secret': true }, 'cloud-init user data', 'none'),
      nesting: key(flag, 'Whether containers may run containers', false),
      ephemeral: key(flag, 'Whether instances are deleted when they stop, also by their job', false),
    },
    ['name'],
  ),
  oneOf: [{ required: ['diskimage'] }, { required: ['cloud-image'] }, { required: ['clone-from'] }],
};

/** The driver's own keys of a provider entry. */
export const schema: JsonSchema = {
  title: 'Provider of Incus and LXD',
  type: 'object',
  'x-ours': ['driver: incus'],
  properties: {
    ...STATE_MACHINE_SCHEMAS.provider,
    ...places('that of the profile'),
    address: {
      ...key(
        { ...text, pattern: '^(https://|unix:/)', 'x-message': 'expected https://HOST:PORT or unix:/PATH' },
        'Address of the daemon: `https://HOST:PORT` or `unix:/PATH`',
        'the socket of a local Incus or LXD',
      ),
      examples: ['https://server.example.com:8443'],
    },
    'client-certificate': key(text, 'Path of the client certificate, PEM', 'none'),
    'client-key': key(text, 'Path of the key of the client certificate, PEM', 'none'),
    'server-certificate': key(
      text,
      'Path of the only certificate that the server may have, PEM',
      'that of the trust token, else any of a known authority',
    ),
    'trust-token': key(
      { ...text, 'x-secret': true },
      'Token of `incus config trust add` or `lxc config trust add`, for the first contact',
      'none',
    ),
    project: key(text, 'Project of instances and images', 'default'),
    type: key(type, 'Type of instances and of uploaded images', 'container'),
    'cpu-overcommit': key(
      { type: 'number', exclusiveMinimum: 0 },
      'CPUs of labels that may be in use for each CPU of the servers',
      4,
    ),
    'memory-overcommit': key(
      { type: 'number', exclusiveMinimum: 0 },
      'Memory of labels that may be in use, as a share of the memory of the servers',
      1,
    ),
    'image-name-format': key(text, 'Name of uploaded images', '`{image_name}-{timestamp}`'),
    'post-upload-hook': key(text, 'Program that the builder runs after an upload', 'none'),
    'image-upload-timeout': key(count, 'Time limit of an upload, in seconds', 3_600),
    diskimages: key(
      { type: 'array', items: object('Diskimage', STATE_MACHINE_SCHEMAS.diskimage, ['name']) },
      'Images that the builder uploads',
      'none',
    ),
    'cloud-images': key({ type: 'array', items: cloudImage }, 'Images of the server, or of a remote one', 'none'),
    pools: key(
      {
        type: 'array',
        items: object(
          'Pool',
          {
            ...pool,
            ...places('that of the provider'),
            'availability-zones': {
              ...key(
                texts,
                'Cluster members, or cluster groups as `@GROUP`, to launch in',
                'all members that are online',
              ),
              examples: [['server1', '@gpu']],
            },
            labels: key({ type: 'array', items: label }, 'Labels of the pool', 'none'),
          },
          ['name'],
        ),
      },
      'Pools of the provider',
      'none',
    ),
  },
};
