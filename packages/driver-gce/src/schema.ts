import { type JsonObject, type JsonSchema, STATE_MACHINE_SCHEMAS } from '@nodepool/core';
import { OVERRIDES_DEFINITIONS, OVERRIDES_SCHEMA } from './overrides.js';

const text = { type: 'string', minLength: 1 };
const texts = { type: 'array', items: text };
const textOrTexts = { anyOf: [text, { ...texts, minItems: 1 }] };
const flag = { type: 'boolean' };

/** An object with these keys and no others. */
function object(title: string, properties: JsonObject, required: string[] = []): JsonObject {
  return { type: 'object', title, additionalProperties: false, required, properties };
}

const { provider, cloudImage, pool, label } = STATE_MACHINE_SCHEMAS;

/** Keys of a pool that its labels may override. */
const ofPoolOrLabel = {
  network: {
    ...text,
    description: 'VPC network, by name or path',
    'x-default': '`default`, or that of the subnetwork',
  },
  subnetwork: { ...text, description: 'Subnetwork of the region, by name or path', 'x-default': "the network's own" },
  'network-tags': { ...texts, description: 'Network tags, for firewall rules', 'x-default': 'none' },
  'external-ip': { ...flag, description: 'Whether instances have an external IPv4 address', default: true },
  'service-account': {
    ...text,
    description: 'E-mail address of the service account of instances',
    'x-default': 'none',
  },
  scopes: {
    ...texts,
    description: 'OAuth scopes of the service account',
    'x-default': 'https://www.googleapis.com/auth/cloud-platform',
  },
  'host-key-source': {
    enum: ['scan', 'guest-attributes'],
    description: 'Source of host keys: a network scan, or the attributes that the guest agent publishes',
    default: 'scan',
  },
};

/** The same keys of a label; default: the value of the pool. */
const ofLabel = Object.fromEntries(
  Object.entries<JsonObject>(ofPoolOrLabel).map(([key, { default: _ofPool, ...described }]) => [
    key,
    { ...described, 'x-default': 'that of the pool' },
  ]),
);

const images = object(
  'Cloud image',
  {
    ...cloudImage,
    key: { ...cloudImage.key, description: 'SSH public key of the user, put into the metadata', 'x-default': 'none' },
    'image-id': { ...text, description: 'Path or URL of an image', 'x-default': 'the newest of the family' },
    'image-project': { ...text, description: 'Project of the image family', 'x-default': 'none' },
    'image-family': { ...text, description: 'Image family whose newest image is used', 'x-default': 'none' },
  },
  ['name'],
);

const labels = object(
  'Label',
  {
    ...label,
    ...ofLabel,
    'instance-type': {
      ...textOrTexts,
      description: 'Machine type, or several: each is used if the types before it are out of stock',
    },
    'volume-type': { ...text, description: 'Type of the boot disk', default: 'pd-standard' },
    'volume-size': {
      type: 'integer',
      minimum: 1,
      'x-tolerates': { minimum: 'the cloud refuses it' },
      description: 'Size of the boot disk, in GiB',
      default: 10,
    },
    spot: {
      ...flag,
      description: 'Whether instances are Spot VMs, which are cheaper and may be preempted',
      default: false,
    },
    'max-run-duration': {
      ...{ type: 'integer', minimum: 30, maximum: 10_368_000 },
      description: 'Time after which Google deletes an instance, in seconds',
      'x-default': 'no limit',
    },
    'user-data': { type: 'string', description: 'cloud-init user data', 'x-default': 'none', 'x-secret': true },
    'instance-overrides': {
      ...OVERRIDES_SCHEMA,
      title: 'Instance overrides',
      description: "Parts of Compute Engine's instance resource, merged into the body of each insert",
      'x-default': 'none',
    },
  },
  ['name', 'cloud-image', 'instance-type'],
);

// Zones belong to the provider, and volumes are not counted.
const { 'availability-zones': _zones, 'max-volumes': _volumes, 'max-volume-gb': _gb, ...usualPool } = pool;

/** The driver's own keys of a provider entry. */
export const schema: JsonSchema = {
  type: 'object',
  'x-ours': [
    ...[
      'credentials',
      'endpoint',
      'zone: list',
      'zone: required',
      'pools: required',
      'pools[].labels: required',
      'pools[].max-cores',
      'pools[].max-ram',
      'pools[].ignore-provider-quota',
    ],
    ...Object.keys(ofPoolOrLabel).flatMap((key) => [`pools[].${key}`, `pools[].labels[].${key}`]),
    ...['host-key-checking', 'console-log', 'instance-type: list', 'spot', 'max-run-duration', 'user-data'].map(
      (key) => `pools[].labels[].${key}`,
    ),
    'pools[].labels[].instance-overrides',
  ],
  'x-services-only': ['rate', 'pools[].host-key-checking'],
  required: ['project', 'region'],
  definitions: OVERRIDES_DEFINITIONS,
  properties: {
    ...provider,
    project: { ...text, description: 'Project id' },
    region: { ...text, description: 'Region', examples: ['us-central1'] },
    zone: { ...textOrTexts, description: 'Zone of the region, or several', 'x-default': 'all zones of the region' },
    rate: {
      ...{ type: 'number', minimum: 0, default: 2 },
      description: 'Maximum API calls per second, for writes and reads each; 0: no limit',
    },
    'rate-limit': { type: 'integer', description: 'Without effect', deprecated: true },
    credentials: {
      ...text,
      description: 'Path of a credentials file',
      'x-default': 'Application Default Credentials of the environment',
    },
    endpoint: {
      ...text,
      pattern: '^https?://[^?#]+$',
      description: 'Base URL of the API, for private endpoints',
      default: 'https://compute.googleapis.com/compute/v1',
    },
    'cloud-images': {
      type: 'array',
      description: 'Public images, or images of a project',
      'x-default': 'none',
      items: images,
    },
    pools: {
      type: 'array',
      description: 'Slices of the project',
      'x-default': 'none',
      items: object(
        'Pool',
        {
          ...usualPool,
          ...ofPoolOrLabel,
          labels: { type: 'array', description: 'Labels that the pool launches', 'x-default': 'none', items: labels },
        },
        ['name'],
      ),
    },
  },
};
