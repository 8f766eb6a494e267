import type { JsonObject } from '@nodepool/zk-protocol';
import type { JsonSchema } from '../contract/driver.js';
import { closeSchema, COMMON_PROVIDER_PROPERTIES } from './compose-schema.js';
import { DISKIMAGE, ENV_VARS } from './diskimage-schema.js';
import { HISTORY } from './history-settings.js';
import { WEB_SECRETS, WEBHOOKS } from './web-access.js';
import { LEASE_KEYS, webappSchema } from './web-settings.js';
import { flag, integer, list, name, section, text, texts } from './schema-parts.js';
import { LABEL_KEYS } from './label-keys.js';

const port = integer('Port of the server', { otherwise: '2281; without TLS 2181' }, { minimum: 1, maximum: 65535 });

/** Connection settings of ZooKeeper, also allowed in the secure file. */
const ZOOKEEPER_SECTIONS = {
  'zookeeper-servers': {
    ...list(
      'Members of the ZooKeeper ensemble',
      section(
        'ZooKeeper server',
        {
          host: name('Name or address of the server, IPv6 too', { examples: ['zk01.example.org'] }),
          port,
          chroot: text('Path below which everything lives, the same for all servers', {
            otherwise: 'none',
            examples: ['/nodepool'],
            restart: true,
          }),
        },
        ['host'],
      ),
      { otherwise: 'the embedded server of this machine' },
    ),
    'x-other-names': ['zk-servers', 'zk-hosts', 'zookeeper', 'zookeeper-hosts', 'zookeeper-ensemble'],
    'x-loss': 'Without it, services would use the embedded server of this machine',
  },
  'zookeeper-tls': {
    ...section(
      'ZooKeeper TLS',
      {
        cert: name('Client certificate, a PEM file', { examples: ['/etc/nodepool/client.pem'] }),
        key: name('Key of the client certificate, a PEM file', { examples: ['/etc/nodepool/client.key'] }),
        ca: name('Certificates that the servers are trusted by, a PEM file', { examples: ['/etc/nodepool/ca.pem'] }),
        'verify-hostname': flag("Whether the servers' certificates must name their hosts", { default: true }),
      },
      ['cert', 'key', 'ca'],
    ),
    description: 'Encrypted connection to ZooKeeper, with a client certificate',
    'x-default': 'none',
    'x-restart': true,
  },
  'zookeeper-digest': {
    ...section(
      'ZooKeeper login',
      {
        user: name('User name at ZooKeeper'),
        password: name('Password at ZooKeeper, best kept in the secure file', { secret: true }),
        protect: flag('Whether what is created is for this login only; Zuul needs the same login then', {
          default: false,
        }),
      },
      ['user', 'password'],
    ),
    description: 'Login at ZooKeeper servers that ask for one',
    'x-default': 'none',
    'x-restart': true,
  },
} satisfies JsonObject;

const LABEL = section(
  'Label',
  {
    name: name('Name that jobs ask for, unique in the file', { examples: ['debian-12-small'] }),
    'min-ready': integer('Free nodes to keep; -1 switches the label off: its requests are declined', {
      default: 0,
    }),
    'max-ready-age': integer('Age at which an unused ready node is deleted, in seconds; 0: never', { default: 0 }),
    ...LABEL_KEYS,
  },
  ['name'],
);

const unlimited = (description: string) => integer(description, { otherwise: 'no limit' });

const TENANT_LIMITS = {
  ...section(
    'Tenant limits',
    {
      'tenant-name': name('Tenant of Zuul'),
      'max-servers': unlimited('Ceiling of nodes'),
      'max-cores': unlimited('Ceiling of cores'),
      'max-ram': unlimited('Ceiling of memory, in MiB'),
      'max-volumes': unlimited('Ceiling of volumes'),
      'max-volume-gb': unlimited('Ceiling of the size of all volumes, in GB'),
    },
    ['tenant-name'],
  ),
  additionalProperties: unlimited('Ceiling of the resource of that name'),
};

/** Schema of the main file. Provider entries are checked later against the schema of their driver. */
export const TOP_LEVEL_SCHEMA: JsonSchema = closeSchema({
  title: 'Nodepool configuration',
  type: 'object',
  'x-ours': [
    ...[
      'tls',
      'names',
      'trusted-proxies',
      'cross-origin-reads',
      'insecure-tokens',
      'socket-mode',
      'anonymous-leases',
    ].map((key) => `webapp.${key}`),
    ...['builder-webapp', 'webhooks', 'history', 'zookeeper-tls.verify-hostname', 'zookeeper-digest'],
    ...Object.keys(LABEL_KEYS).map((key) => `labels[].${key}`),
    ...['embedded-zookeeper-access', 'embedded-zookeeper-port', 'lease-ca-key'],
    ...[
      'time-zone',
      'steering',
      'diskimages[].builders',
      'diskimages[].validate',
      'diskimages[].canary',
      'trusted-directories',
    ],
  ],
  'x-services-only': ['diskimages[].shell-type', 'zookeeper-timeout: integer'],
  properties: {
    webapp: webappSchema(
      'launcher',
      { port: 8005, address: '0.0.0.0', addressText: 'Address to listen on' },
      LEASE_KEYS,
    ),
    'builder-webapp': webappSchema('builder', {
      ...{ port: 8006, address: '127.0.0.1' },
      addressText: 'Address to listen on; others than loopback let other machines read build logs',
    }),
    webhooks: WEBHOOKS,
    history: HISTORY,
    ...ZOOKEEPER_SECTIONS,
    'embedded-zookeeper-access': {
      type: 'string',
      enum: ['owner', 'group', 'anyone'],
      description:
        "Who may use the embedded server: the launcher's user (`owner`), its group too (`group`), or every user of the machine (`anyone`)",
      default: 'owner',
      'x-restart': true,
    },
    'embedded-zookeeper-port': {
      ...integer(
        'TCP port of the embedded server on loopback, for programs that cannot use its socket; they log in, except with `anyone`',
        { otherwise: 'none; with `anyone` 2181 or a free one' },
        { minimum: 1, maximum: 65535 },
      ),
      'x-restart': true,
    },
    'zookeeper-timeout': {
      type: 'number',
      exclusiveMinimum: 0,
      description: 'Session timeout at ZooKeeper, in seconds',
      default: 10,
      'x-restart': true,
    },
    labels: list('What jobs may ask for; each label used by a provider must be listed', LABEL),
    'time-zone': text('Time zone of the schedules of labels, by its IANA name', {
      ...{ otherwise: 'that of the host', examples: ['Europe/Berlin'] },
    }),
    'max-hold-age': integer('Time a node may be held by a person, in seconds; 0: without limit', { default: 0 }),
    'lease-ca-key': name(
      'File with the private key, for the launcher alone, that signs SSH certificates of leases; `nodepool ca create` makes one',
      { otherwise: 'none: leases take no SSH key', examples: ['/etc/nodepool/lease_ca'] },
    ),
    'tenant-resource-limits': list('Ceilings for tenants of Zuul', TENANT_LIMITS),
    providers: list('Where nodes come from', {
      title: 'Provider',
      type: 'object',
      properties: { driver: COMMON_PROVIDER_PROPERTIES.driver },
      additionalProperties: true,
    }),
    steering: flag(
      'Whether failing providers are steered around, where the provider does not say; see docs/steering.md',
      {
        default: true,
      },
    ),
    diskimages: list('Images that the builder builds', DISKIMAGE),
    'elements-dir': text('Folder with elements for image builds', { otherwise: 'none' }),
    'images-dir': text('Folder that builds are kept in; builders need one', { otherwise: 'none' }),
    'build-log-dir': text('Folder that build logs are written to', { default: '/var/log/nodepool/builds' }),
    'trusted-directories': texts(
      'Folders that a builder of root uses, or uses folders in, although other users own them or their group may write there; ' +
        'see docs/builder.md',
      { otherwise: 'none', examples: [['/srv/images']], restart: true },
    ),
    'build-log-retention': integer('Build logs kept of each image; a negative number keeps all', { default: 7 }),
  },
});

/** Schema of the secure file, with all keys read from it. */
export const SECURE_SCHEMA: JsonSchema = closeSchema({
  title: 'Nodepool secure file',
  type: 'object',
  properties: {
    ...ZOOKEEPER_SECTIONS,
    ...WEB_SECRETS,
    diskimages: list(
      'Images of the main file that get secrets',
      section('Diskimage', { name: name('Name of an image of the main file'), 'env-vars': ENV_VARS }, ['name']),
    ),
  },
});
