import type { JsonSchema } from '../driver/types.js';
import { closeSchema } from './compose-schema.js';

const TEXT: JsonSchema = { type: 'string' };
const NAME: JsonSchema = { type: 'string', minLength: 1 };
const TEXTS: JsonSchema = { type: 'array', items: TEXT };
const INTEGER: JsonSchema = { type: 'integer' };
const BOOLEAN: JsonSchema = { type: 'boolean' };
const ENV_VARS: JsonSchema = { type: 'object', additionalProperties: { type: 'string', 'x-secret': true } };

const ZOOKEEPER_SERVERS: JsonSchema = {
  type: 'array',
  items: {
    type: 'object',
    required: ['host'],
    properties: { host: NAME, port: { type: 'integer', minimum: 1, maximum: 65535 }, chroot: TEXT },
  },
};

const ZOOKEEPER_TLS: JsonSchema = {
  type: 'object',
  required: ['cert', 'key', 'ca'],
  properties: { cert: NAME, key: NAME, ca: NAME, 'verify-hostname': BOOLEAN },
};

const ZOOKEEPER_DIGEST: JsonSchema = {
  type: 'object',
  required: ['user', 'password'],
  properties: { user: NAME, password: { type: 'string', minLength: 1, 'x-secret': true }, protect: BOOLEAN },
};

const DISKIMAGE: JsonSchema = {
  type: 'object',
  required: ['name'],
  properties: {
    name: NAME,
    abstract: BOOLEAN,
    parent: TEXT,
    formats: TEXTS,
    'keep-formats': TEXTS,
    'delete-after-upload': BOOLEAN,
    'rebuild-age': INTEGER,
    'build-timeout': INTEGER,
    release: { type: ['string', 'integer'] },
    elements: TEXTS,
    'env-vars': ENV_VARS,
    pause: BOOLEAN,
    username: TEXT,
    'python-path': TEXT,
    'shell-type': TEXT,
    'dib-cmd': TEXT,
    metadata: { type: 'object', additionalProperties: true },
  },
};

/** Schema of the main file. Provider entries are checked against their own driver's schema afterwards. */
export const TOP_LEVEL_SCHEMA: JsonSchema = closeSchema({
  type: 'object',
  properties: {
    webapp: {
      type: 'object',
      properties: { port: { type: 'integer', minimum: 0, maximum: 65535 }, listen_address: TEXT },
    },
    'elements-dir': TEXT,
    'images-dir': TEXT,
    'build-log-dir': TEXT,
    'build-log-retention': INTEGER,
    'zookeeper-servers': ZOOKEEPER_SERVERS,
    'zookeeper-tls': ZOOKEEPER_TLS,
    'zookeeper-digest': ZOOKEEPER_DIGEST,
    'zookeeper-timeout': { type: 'number', exclusiveMinimum: 0 },
    labels: {
      type: 'array',
      items: {
        type: 'object',
        required: ['name'],
        properties: { name: NAME, 'min-ready': INTEGER, 'max-ready-age': INTEGER },
      },
    },
    diskimages: { type: 'array', items: DISKIMAGE },
    providers: {
      type: 'array',
      items: { type: 'object', properties: { driver: NAME }, additionalProperties: true },
    },
    'max-hold-age': INTEGER,
    'tenant-resource-limits': {
      type: 'array',
      items: {
        type: 'object',
        required: ['tenant-name'],
        properties: {
          'tenant-name': NAME,
          'max-servers': INTEGER,
          'max-cores': INTEGER,
          'max-ram': INTEGER,
          'max-volumes': INTEGER,
          'max-volume-gb': INTEGER,
        },
        additionalProperties: INTEGER,
      },
    },
  },
});

/** Schema of the secure file: the only keys that are read from it. */
export const SECURE_SCHEMA: JsonSchema = closeSchema({
  type: 'object',
  properties: {
    'zookeeper-servers': ZOOKEEPER_SERVERS,
    'zookeeper-tls': ZOOKEEPER_TLS,
    'zookeeper-digest': ZOOKEEPER_DIGEST,
    diskimages: {
      type: 'array',
      items: { type: 'object', required: ['name'], properties: { name: NAME, 'env-vars': ENV_VARS } },
    },
  },
});
