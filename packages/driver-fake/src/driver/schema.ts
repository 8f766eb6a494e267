import { type JsonSchema, STATE_MACHINE_SCHEMAS } from '@nodepool/core';
import type { JsonObject } from '@nodepool/zk-protocol';
import { FAILURES, TIMES } from '../cloud/index.js';

const text = { type: 'string', minLength: 1 };
const texts = { type: 'array', items: text };
const flag = { type: 'boolean' };
const limit = { type: 'integer', minimum: -1 };
const seconds = { type: 'number', minimum: 0 };
const timeout = { type: 'number', minimum: 0, exclusiveMinimum: 0 };
const map = { type: 'object' };

/** An object with these keys and no others. */
function object(title: string, properties: JsonObject, required: string[] = []): JsonObject {
  return { title, type: 'object', additionalProperties: false, required, properties };
}

/** A key of the openstack driver that is accepted and ignored. */
function unused(kind: JsonObject): JsonObject {
  return { ...kind, description: 'Without effect; accepted for compatibility with the openstack driver' };
}

// Keys that the openstack driver does not have.
const { key: _key, ...usualImage } = STATE_MACHINE_SCHEMAS.cloudImage;
const { 'use-internal-ip': _internal, ...usualPool } = STATE_MACHINE_SCHEMAS.pool;
const configDrive = { 'config-drive': unused(flag) };
const { meta, pause, ...usualDiskimage } = STATE_MACHINE_SCHEMAS.diskimage;

const diskimage = object(
  'Diskimage of the fake cloud',
  { ...usualDiskimage, pause: unused(pause), meta: unused(meta), ...configDrive },
  ['name'],
);

const cloudImage = {
  ...object(
    'Image of the fake cloud',
    {
      ...usualImage,
      ...configDrive,
      'image-id': { ...text, description: 'Id of the image, used without a lookup', 'x-default': 'none' },
      'image-name': { ...text, description: 'Id or name of the image in the cloud', 'x-default': 'its `name`' },
    },
    ['name'],
  ),
  not: { required: ['image-id', 'image-name'] },
  'x-tolerates': { not: 'the image-id counts' },
};

const label = {
  ...object(
    'Label of the fake cloud',
    {
      ...STATE_MACHINE_SCHEMAS.label,
      ...STATE_MACHINE_SCHEMAS.diskimageLabel,
      'min-ram': {
        type: 'integer',
        minimum: 0,
        description: 'Minimum memory in MiB: selects the smallest flavor that has it',
        default: 0,
      },
      'flavor-name': {
        ...text,
        description: 'Name of the flavor; with `min-ram`, a part of its name',
        'x-default': 'any',
      },
      'instance-properties': { ...map, description: 'Additional tags of instances', 'x-default': 'none' },
      'key-name': unused(text),
      userdata: unused({ type: 'string' }),
      networks: unused(texts),
      'boot-from-volume': unused(flag),
      'volume-size': unused({ type: 'integer' }),
      'dynamic-instance-properties': unused(map),
    },
    ['name'],
  ),
  oneOf: [{ required: ['diskimage'] }, { required: ['cloud-image'] }],
  anyOf: [{ required: ['min-ram'] }, { required: ['flavor-name'] }],
  'x-tolerates': {
    oneOf: 'with both, the diskimage is used; without either, no instance can be launched',
    anyOf: 'the smallest flavor is used',
  },
};

const pool = object(
  'Pool of the fake cloud',
  {
    ...usualPool,
    'max-volumes': unused({ type: 'integer' }),
    'max-volume-gb': unused({ type: 'integer' }),
    networks: unused(texts),
    'security-groups': unused(texts),
    'auto-floating-ip': unused(flag),
    labels: { type: 'array', description: 'Labels that the pool launches', 'x-default': 'none', items: label },
  },
  ['name'],
);

/** A time in seconds, or a distribution. */
const distribution = {
  oneOf: [
    seconds,
    object(
      'Between two times',
      { uniform: { type: 'array', items: seconds, minItems: 2, maxItems: 2, description: 'From and to, in seconds' } },
      ['uniform'],
    ),
    object('Around a mean', { exponential: { ...seconds, description: 'Mean, in seconds' } }, ['exponential']),
  ],
};

/** Description and default of each time. */
const TIME_NOTES: Readonly<Record<(typeof TIMES)[number], JsonObject>> = {
  'create-time': { description: 'Time until an instance runs, in seconds', default: 0 },
  'delete-time': { description: 'Time until a deleted instance is gone, in seconds', default: 0 },
  'stop-time': { description: 'Time until a stopped instance has stopped, in seconds', default: 0 },
  'start-time': { description: 'Time until a stopped instance that was started is active, in seconds', default: 0 },
  'api-time': { description: 'Time that each call takes, in seconds', default: 0 },
  'answer-time': { description: 'Time from the effect of a call to its answer, in seconds', default: 0 },
  'upload-time': { description: 'Time until an uploaded image is complete, in seconds', default: 0 },
  'vanish-time': {
    description: 'Time until a `vanish` or `hide` failure strikes an active instance, in seconds',
    default: 60,
  },
  'hide-time': {
    description: 'Time until a hidden or resurrected instance is back, in seconds',
    default: 5,
  },
};

const ssh = {
  description: 'SSH servers of instances',
  default: false,
  oneOf: [
    flag,
    object('SSH servers', {
      enabled: { ...flag, description: 'Whether instances run SSH servers', default: true },
      address: {
        ...text,
        description: 'Loopback address; each instance gets its own port',
        default: '127.0.0.1',
      },
      'host-keys': {
        enum: ['shared', 'per-instance'],
        description: 'Whether instances share one host key',
        default: 'shared',
      },
      'authorized-keys': {
        ...texts,
        description: 'Additional public keys that may log in',
        'x-default': 'none',
      },
    }),
  ],
};

/** Description of each failure. */
const FAILURE_NOTES: Readonly<Record<(typeof FAILURES)[number], string>> = {
  quota: 'a create is refused: quota exceeded',
  capacity: 'a create is refused: no capacity',
  'error-state': 'a new instance gets status `error`',
  'never-active': 'a new instance never becomes active',
  'api-down': 'a call is not answered; at 1, changes are not reported either',
  'rate-limited': 'a call is refused: too many requests',
  'connection-reset': 'a create or delete takes effect, but its answer is lost',
  'delete-error': 'a delete is refused',
  'delete-stuck': 'a delete never ends',
  duplicate: 'a create adds two instances with the same tags',
  vanish: 'an active instance disappears after `vanish-time`',
  hide: 'an active instance is hidden for `hide-time`, after `vanish-time`',
  resurrect: 'a deleted instance comes back after `hide-time`',
  'no-ssh': 'a new instance is unreachable (with `ssh` only)',
};

const rate = { type: 'number', minimum: 0, maximum: 1 };

const quotaOf = (what: string) => ({ ...limit, description: `Quota of ${what}; -1: none`, 'x-default': 'no limit' });

const flavor = object(
  'Flavor',
  {
    name: { ...text, description: 'Name of the flavor' },
    ram: { type: 'integer', minimum: 0, description: 'Memory, in MiB' },
    cores: { type: 'integer', minimum: 0, description: 'Cores', default: 1 },
  },
  ['name', 'ram'],
);

const cloudSettings = {
  ...object('Settings of the cloud', {
    'state-dir': {
      ...text,
      description: 'Directory of the cloud: state, socket, keys, log',
      'x-default': "below the launcher's `--state-dir`",
    },
    listen: {
      ...text,
      description: 'Loopback address and port of its server',
      'x-default': 'a socket in `state-dir`',
      examples: ['127.0.0.1:7000'],
    },
    'upload-images': {
      ...flag,
      description: 'Whether labels with a `diskimage` need an upload by a builder',
      default: false,
    },
    ...Object.fromEntries(TIMES.map((name) => [name, { ...distribution, ...TIME_NOTES[name] }])),
    failures: {
      ...object(
        'Failures',
        Object.fromEntries(
          FAILURES.map((name) => [name, { ...rate, description: `Rate at which ${FAILURE_NOTES[name]}`, default: 0 }]),
        ),
      ),
      description: 'Rates of failures, from 0 (never) to 1 (always)',
      'x-default': 'none',
    },
    quota: {
      ...object('Quota', { instances: quotaOf('instances'), cores: quotaOf('cores'), ram: quotaOf('memory, in MiB') }),
      description: 'Quota of the cloud',
      'x-default': 'no limit',
    },
    'availability-zones': { ...texts, description: 'Zones of the cloud', 'x-default': 'one without a name' },
    flavors: {
      type: 'array',
      description: 'Available flavors; without the list, an unknown flavor is made up',
      'x-default': 'tiny (512 MiB) to 4xlarge (64 GiB)',
      items: flavor,
    },
    images: { ...texts, description: 'Names of existing images', 'x-default': 'every image exists' },
    'broken-images': {
      ...texts,
      description: 'Names or ids of images whose instances get status `error`',
      'x-default': 'none',
    },
    ssh,
  }),
  description: 'Behaviour of the simulated cloud',
  'x-default': 'none',
};

/** The driver's own keys of a provider entry: those of the openstack driver, and `cloud-settings`. */
export const schema: JsonSchema = {
  title: 'Provider of a fake cloud',
  description: 'A simulated cloud with configurable latency, failures and quota',
  type: 'object',
  'x-ours': ['cloud-settings'],
  properties: {
    ...STATE_MACHINE_SCHEMAS.provider,
    'boot-timeout': { ...STATE_MACHINE_SCHEMAS.provider['boot-timeout'], ...timeout },
    'launch-timeout': { ...STATE_MACHINE_SCHEMAS.provider['launch-timeout'], ...timeout },
    rate: { ...STATE_MACHINE_SCHEMAS.provider.rate, description: 'Time between API calls, in seconds; 0: none' },
    cloud: { ...text, description: 'Name of the cloud; providers with the same name share it', default: 'fake' },
    'region-name': { ...text, description: 'Region, stored with nodes', 'x-default': 'none' },
    'image-upload-timeout': unused(timeout),
    'nodepool-id': unused(text),
    'image-name-format': unused(text),
    'post-upload-hook': unused(text),
    'clean-floating-ips': unused(flag),
    'port-cleanup-interval': unused(seconds),
    diskimages: { type: 'array', description: 'Images uploaded here', 'x-default': 'none', items: diskimage },
    'cloud-images': {
      type: 'array',
      description: 'Existing images of the cloud',
      'x-default': 'none',
      items: cloudImage,
    },
    pools: { type: 'array', description: 'Slices of the cloud', 'x-default': 'none', items: pool },
    'cloud-settings': cloudSettings,
  },
};
