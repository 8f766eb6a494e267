import type { Random } from './random.js';
import type { AclEntry } from './raw-requests.js';

/** ACLs of all kinds, also such as are refused. */
export const ACLS: AclEntry[][] = [
  [{ permissions: 31, scheme: 'auth', id: '' }],
  [{ permissions: 1, scheme: 'world', id: 'anyone' }],
  [{ permissions: 31, scheme: 'ip', id: '127.0.0.1' }],
  [{ permissions: 31, scheme: 'ip', id: '127.0.0.0/8' }],
  [{ permissions: 31, scheme: 'ip', id: '10.0.0.0/8' }],
  [{ permissions: 31, scheme: 'digest', id: 'ann:7RJfAeIvrl4zdj6sS2fXrQHDvHM=' }],
  [
    { permissions: 5, scheme: 'world', id: 'anyone' },
    { permissions: 31, scheme: 'digest', id: 'bob:fyVmFCwVbTJYrznoSu1koqYEYF0=' },
  ],
  [
    { permissions: 31, scheme: 'world', id: 'anyone' },
    { permissions: 31, scheme: 'world', id: 'anyone' },
    { permissions: 1, scheme: 'ip', id: '127.0.0.1/32' },
  ],
  [],
  [{ permissions: 31, scheme: 'world', id: 'nobody' }],
  [{ permissions: 31, scheme: 'digest', id: 'nocolon' }],
  [{ permissions: 31, scheme: 'digest', id: 'a:b:c' }],
  [{ permissions: 31, scheme: 'digest', id: 'a:' }],
  [{ permissions: 31, scheme: 'digest', id: ':b' }],
  [{ permissions: 31, scheme: 'ip', id: '300.1.1.1' }],
  [{ permissions: 31, scheme: 'ip', id: '1.1.1.1/33' }],
  [{ permissions: 31, scheme: 'ip', id: 'localhost' }],
  [{ permissions: 31, scheme: 'sasl', id: 'x' }],
  [{ permissions: 31, scheme: 'x509', id: 'CN=x' }],
  [{ permissions: 31, scheme: 'strange', id: 'x' }],
  [{ permissions: 31, scheme: null, id: 'x' }],
  [{ permissions: 0, scheme: 'world', id: 'anyone' }],
];

/** Paths that are refused, and those of ZooKeeper itself. */
export const STRANGE_PATHS = [
  '',
  '/',
  'relative',
  '//',
  '/a//b',
  '/a/',
  '/.',
  '/a/../b',
  '/a/.',
  '/...',
  '/.a',
  '/a\u0001',
  '/a\u0000',
  '/\u007f',
  '/ä',
  '/\ue000',
  '/\uffff',
  '/zookeeper',
  '/zookeeper/quota',
  '/zookeeper/config',
  '/zookeeper/nothing',
];

const NAMES = ['a', 'b', 'c'];

/** What random requests are about: few paths, so that requests meet each other often, and few versions. */
export class Operands {
  constructor(
    private readonly random: Random,
    private readonly basePath: string,
  ) {}

  path(): string {
    const depth = 1 + this.random.below(3);
    let path = this.basePath;
    for (let level = 0; level < depth; level++) path += `/${this.name()}`;
    return path;
  }

  name(): string {
    if (!this.random.chance(0.15)) return this.random.pick(NAMES);
    return `s${String(this.random.below(8)).padStart(10, '0')}`;
  }

  aclPath(): string {
    return `${this.basePath}/acl${this.random.chance(0.5) ? `/${this.random.pick(NAMES)}` : ''}`;
  }

  version(): number {
    return this.random.chance(0.6) ? -1 : this.random.below(4);
  }

  data(): Buffer | null {
    if (this.random.chance(0.05)) return null;
    return Buffer.alloc(this.random.pick([0, 1, 10, 300]), this.random.below(256));
  }
}
