import type { JsonSchema } from '../../contract/driver.js';
import { USER_PATTERN } from '../../text/login-fields.js';

const name = (description: string) => ({ type: 'string', minLength: 1, description });
const limit = (description: string) => ({ type: 'integer', description, 'x-default': 'no limit' });

/** How jobs reach nodes of an image. */
const connection = {
  'connection-type': {
    type: 'string',
    description: 'How jobs connect to nodes: `ssh`, `winrm` or another plug-in of Ansible',
    default: 'ssh',
  },
  'connection-port': {
    type: 'integer',
    minimum: 1,
    maximum: 65535,
    'x-tolerates': { minimum: 'nothing can connect to it', maximum: 'nothing can connect to it' },
    description: 'Port that jobs connect to',
    'x-default': '22; 5986 for `winrm`',
  },
};

/**
 * Schemas of the keys that `readStateMachineProvider` reads, to be merged into a driver's own. A driver takes those that
 * it can do something with.
 */
export const STATE_MACHINE_SCHEMAS = {
  /** Of the provider entry. */
  provider: {
    'boot-timeout': {
      type: 'integer',
      minimum: 1,
      'x-tolerates': { minimum: 'host keys are given up at once' },
      description: 'Time limit for the host keys of a new instance, in seconds',
      default: 60,
    },
    'launch-timeout': {
      type: 'integer',
      minimum: 1,
      'x-tolerates': { minimum: 'each attempt fails at once' },
      description: 'Time limit of one launch attempt, in seconds',
      default: 3600,
    },
    'launch-retries': {
      type: 'integer',
      minimum: 1,
      'x-tolerates': { minimum: 'one attempt is made' },
      description: 'Attempts before a launch has failed',
      default: 3,
    },
    rate: {
      type: 'number',
      'x-numeric-text': true, // as files have it that were written for the original
      minimum: 0,
      'x-tolerates': { minimum: 'no limit' },
      description: 'Ceiling of API calls per second; 0: none',
      'x-default': 'no limit',
    },
  },
  /** Of an entry of `cloud-images`. */
  cloudImage: {
    name: name('Name of the image, for `cloud-image` of labels'),
    username: {
      type: 'string',
      pattern: USER_PATTERN,
      description: 'User that jobs log in as',
      'x-default': "the job's own",
    },
    'python-path': { type: 'string', description: 'Python that Ansible uses on nodes', default: 'auto' },
    'shell-type': { type: 'string', description: 'Shell that Ansible uses on nodes', 'x-default': "Ansible's own" },
    ...connection,
    key: { type: 'string', description: 'SSH public key of the user', 'x-default': 'none' },
  },
  /** Of an entry of the provider's `diskimages`, for drivers that manage images. */
  diskimage: {
    name: name('Name of a diskimage of the top-level list, which is uploaded to this provider'),
    pause: { type: 'boolean', description: 'Whether uploads of this image are paused', default: false },
    meta: {
      type: 'object',
      additionalProperties: true,
      description: 'Properties of the uploaded image',
      'x-default': 'none',
      examples: [{ hw_disk_bus: 'virtio' }],
    },
    ...connection,
  },
  /** Of an entry of `pools`. */
  pool: {
    name: name('Name of the pool, unique in the provider'),
    priority: {
      type: 'integer',
      description: 'Place of the pool among others that can serve a request: the smaller goes first',
      'x-default': 'that of the provider',
    },
    'max-servers': limit('Ceiling of nodes at a time; 0 switches the pool off'),
    'max-cores': limit('Ceiling of cores in use; -1: none'),
    'max-ram': limit('Ceiling of memory in use, in MiB; -1: none'),
    'max-volumes': limit('Ceiling of volumes; -1 or 0: none'),
    'max-volume-gb': limit('Ceiling of the size of all volumes, in GB; -1 or 0: none'),
    'ignore-provider-quota': {
      type: 'boolean',
      description: 'Whether only the ceilings of the pool count, and not the quota of the cloud',
      default: false,
    },
    'node-attributes': {
      type: 'object',
      additionalProperties: true,
      description: 'Values stored with each node as `attributes`, for jobs and executors to choose by',
      'x-default': 'none',
      examples: [{ 'executor-zone': 'vpn' }],
    },
    'availability-zones': {
      type: 'array',
      items: { type: 'string' },
      description: 'Availability zones to launch in; all nodes of a request share one',
      'x-default': 'all',
    },
    'host-key-checking': {
      type: 'boolean',
      description:
        'Whether the host keys of new nodes are read and stored before they are handed out. A machine whose port is closed at first has just booted: it is ready when it has shown the same keys twice, 5 s apart, as a first boot may replace them',
      default: true,
    },
    'use-internal-ip': {
      type: 'boolean',
      description: 'Whether jobs connect to the private address',
      default: false,
    },
  },
  /** Of an entry of `pools[].labels`. */
  label: {
    name: name('Name of a label of the top-level list'),
    'cloud-image': {
      type: 'string',
      minLength: 1,
      description: 'Image that is in the cloud already, of `cloud-images`',
      'x-default': 'none',
    },
    'host-key-checking': {
      type: 'boolean',
      description: 'Whether the host keys of new nodes are read and stored before they are handed out',
      'x-default': 'that of the pool',
    },
    'console-log': {
      type: 'boolean',
      description:
        'Whether the last 500 lines of the console of an instance are logged, as `machineSaid`, when its host keys cannot be read',
      default: false,
    },
  },
  /** Beside `label`, for drivers that manage images. */
  diskimageLabel: {
    diskimage: {
      type: 'string',
      minLength: 1,
      description: "Image that the builder uploads, of the provider's `diskimages`",
      'x-default': 'none',
    },
  },
} satisfies Record<string, JsonSchema>;
