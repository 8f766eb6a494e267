import type { JsonObject } from '@nodepool/zk-protocol';
import { flag, integer, list, name, section, text } from './schema-parts.js';

const port = integer('Port of the server', { otherwise: '2281; without TLS 2181' }, { minimum: 1, maximum: 65535 });

/** Connection settings of ZooKeeper, also allowed in the secure file. */
export const ZOOKEEPER_SECTIONS = {
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
