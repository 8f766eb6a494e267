import { OpCode } from '../../src/embedded/model/constants.js';
import type { JuteWriter } from '../../src/embedded/wire/jute-writer.js';
import type { Random } from './random.js';
import type { RawRequest } from './raw-client.js';

interface AclEntry {
  permissions: number;
  scheme: string | null;
  id: string;
}

const OPEN: AclEntry[] = [{ permissions: 31, scheme: 'world', id: 'anyone' }];

const ACLS: AclEntry[][] = [
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

const STRANGE_PATHS = [
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

const PROBE_XID = 1_000_000_000;

const NAMES = ['a', 'b', 'c'];

/** Makes random requests over a small set of paths, so that they meet each other often. */
export class OperationSource {
  constructor(
    private readonly random: Random,
    private readonly basePath: string,
  ) {}

  /** Any request that a session may send at any time. */
  next(): RawRequest {
    const make = this.random.weighted<() => RawRequest>([
      [30, () => this.create(this.path())],
      [14, () => this.delete(this.path())],
      [14, () => this.setData(this.path())],
      [10, () => this.read(OpCode.exists)],
      [10, () => this.read(OpCode.getData)],
      [8, () => this.read(OpCode.getChildren)],
      [8, () => this.read(OpCode.getChildren2)],
      [10, () => this.multi()],
      [4, () => this.multiRead()],
      [5, () => this.addWatch()],
      [3, () => this.removeWatches()],
      [2, () => this.pathOnly(this.random.pick([OpCode.getAcl, OpCode.sync, OpCode.getAllChildrenNumber]))],
      [2, () => this.getEphemerals()],
      [1, () => this.bare(OpCode.whoAmI)],
      [3, () => this.strange()],
      [2, () => this.truncated()],
      [2, () => this.createWithAcl()],
    ]);
    return make();
  }

  /** Changes the ACL of a znode; apart from the others because an answer is needed before what depends on it. */
  setAcl(): RawRequest {
    const path = this.random.chance(0.2) ? this.path() : this.aclPath();
    const acl = this.random.pick([OPEN, OPEN, ...ACLS]);
    const version = this.version();
    return {
      type: OpCode.setAcl,
      text: `setAcl ${path} ${JSON.stringify(acl)} v${version}`,
      encode: (writer) => {
        writer.string(path);
        writeAcl(writer, acl);
        writer.int(version);
      },
    };
  }

  /** What a client sends after it came back; transaction ids differ between servers, hence the argument. */
  setWatches(): (relativeZxid: number) => RawRequest {
    const list = () => Array.from({ length: this.random.below(3) }, () => this.path());
    const lists = [list(), list(), list(), list(), list()];
    const isNew = this.random.chance(0.7);
    return (relativeZxid) => ({
      type: isNew ? OpCode.setWatches2 : OpCode.setWatches,
      text: `setWatches ${JSON.stringify(lists)}`,
      encode: (writer) => {
        writer.long(relativeZxid);
        for (const paths of isNew ? lists : lists.slice(0, 3)) writer.strings(paths, paths.length);
      },
    });
  }

  /** Alone in its burst: all pings have the same id. */
  ping(): RawRequest {
    return this.bare(OpCode.ping);
  }

  bare(type: number): RawRequest {
    return { type, text: `operation ${type}`, encode: () => undefined };
  }

  /** Makes the znode that everything else happens below. */
  base(): RawRequest {
    return createPlain(this.basePath, 0);
  }

  /** An ephemeral, and a request that tells whether it is there. */
  expiryProbe(): { create: RawRequest; read: RawRequest } {
    const path = `/${this.basePath.slice(1)}-ephemeral`;
    return {
      create: createPlain(path, 1),
      read: {
        type: OpCode.exists,
        text: `exists ${path}`,
        // Asked again and again, on each server as often as it takes.
        xid: PROBE_XID,
        encode: (writer) => {
          writer.string(path);
          writer.bool(false);
        },
      },
    };
  }

  private path(): string {
    const depth = 1 + this.random.below(3);
    let path = this.basePath;
    for (let level = 0; level < depth; level++) path += `/${this.name()}`;
    return path;
  }

  private name(): string {
    if (!this.random.chance(0.15)) return this.random.pick(NAMES);
    return `s${String(this.random.below(8)).padStart(10, '0')}`;
  }

  private aclPath(): string {
    return `${this.basePath}/acl${this.random.chance(0.5) ? `/${this.random.pick(NAMES)}` : ''}`;
  }

  private version(): number {
    return this.random.chance(0.6) ? -1 : this.random.below(4);
  }

  private data(): Buffer | null {
    if (this.random.chance(0.05)) return null;
    return Buffer.alloc(this.random.pick([0, 1, 10, 300]), this.random.below(256));
  }

  private create(path: string, acl = OPEN, type = this.createType(), flags = this.createFlags(type)): RawRequest {
    const at = flags === 2 || flags === 3 || flags === 6 ? `${path.slice(0, path.lastIndexOf('/') + 1)}s` : path;
    const data = this.data();
    const ttl = this.random.pick([100_000, 100_000, 0, -5]);
    return {
      type,
      text: `create(${type}) ${at} flags ${flags} ttl ${ttl} ${data?.length ?? 'null'} bytes`,
      encode: (writer) => {
        writer.string(at);
        writer.bytes(data);
        writeAcl(writer, acl);
        writer.int(flags);
        if (type === OpCode.createTtl) writer.long(ttl);
      },
    };
  }

  private createType(): number {
    return this.random.weighted([
      [10, OpCode.create],
      [10, OpCode.create2],
      [1, OpCode.createContainer],
      [1, OpCode.createTtl],
    ]);
  }

  private createFlags(type: number): number {
    // ZooKeeper 3.8.0 stops for good on a TTL request whose flags are not those of a TTL znode.
    if (type === OpCode.createTtl) return this.random.pick([5, 6]);
    if (type === OpCode.createContainer) return this.random.pick([4, 4, 0, 2]);
    return this.random.weighted([
      [50, 0],
      [20, 1],
      [20, 2],
      [20, 3],
      [1, 4],
      [1, 5],
      [1, 7],
      [1, -1],
    ]);
  }

  /** Not with the flags of a TTL znode on another operation: 3.8.0 fails halfway then and keeps what it has done. */
  private createInMulti(): RawRequest {
    const type = this.createType();
    return this.create(this.path(), OPEN, type, type === OpCode.createTtl ? 5 : this.random.pick([0, 0, 1, 2, 3, 4]));
  }

  private createWithAcl(): RawRequest {
    return this.create(this.aclPath(), this.random.pick(ACLS));
  }

  private delete(path: string): RawRequest {
    return this.versioned(OpCode.delete, 'delete', path);
  }

  private versioned(type: number, text: string, path: string): RawRequest {
    const version = this.version();
    return {
      type,
      text: `${text} ${path} v${version}`,
      encode: (writer) => {
        writer.string(path);
        writer.int(version);
      },
    };
  }

  private setData(path: string): RawRequest {
    const version = this.version();
    const data = this.data();
    return {
      type: OpCode.setData,
      text: `setData ${path} v${version} ${data?.length ?? 'null'} bytes`,
      encode: (writer) => {
        writer.string(path);
        writer.bytes(data);
        writer.int(version);
      },
    };
  }

  private read(type: number, path = this.random.chance(0.05) ? this.aclPath() : this.path()): RawRequest {
    const watch = this.random.chance(0.4);
    return {
      type,
      text: `read(${type}) ${path}${watch ? ' watch' : ''}`,
      encode: (writer) => {
        writer.string(path);
        writer.bool(watch);
      },
    };
  }

  private multi(): RawRequest {
    const parts = Array.from({ length: this.random.below(6) }, () =>
      this.random.weighted<() => RawRequest>([
        [10, () => this.createInMulti()],
        [5, () => this.delete(this.path())],
        [8, () => this.setData(this.path())],
        [5, () => this.versioned(OpCode.check, 'check', this.path())],
      ])(),
    );
    return composed(OpCode.multi, parts);
  }

  private multiRead(): RawRequest {
    const parts = Array.from({ length: this.random.below(4) }, () =>
      this.read(this.random.pick([OpCode.getData, OpCode.getChildren])),
    );
    return composed(OpCode.multiRead, parts);
  }

  private addWatch(): RawRequest {
    const path = this.random.chance(0.3) ? this.basePath : this.path();
    const mode = this.random.pick([0, 0, 0, 1, 1, 1, 1, 2]);
    return {
      type: OpCode.addWatch,
      text: `addWatch ${path} mode ${mode}`,
      encode: (writer) => {
        writer.string(path);
        writer.int(mode);
      },
    };
  }

  private removeWatches(): RawRequest {
    const path = this.path();
    const type = this.random.pick([OpCode.removeWatches, OpCode.removeWatches, OpCode.checkWatches]);
    const watcherType = this.random.pick([1, 2, 3, 3, 3, 9]);
    return {
      type,
      text: `watches(${type}) ${path} type ${watcherType}`,
      encode: (writer) => {
        writer.string(path);
        writer.int(watcherType);
      },
    };
  }

  private pathOnly(type: number, path = this.path()): RawRequest {
    return { type, text: `operation ${type} ${path}`, encode: (writer) => writer.string(path) };
  }

  private getEphemerals(): RawRequest {
    return this.pathOnly(
      OpCode.getEphemerals,
      this.random.pick(['/', '', this.basePath, `${this.basePath}/a`, '/none']),
    );
  }

  private strange(): RawRequest {
    const path = this.random.pick(STRANGE_PATHS);
    return this.random.weighted<() => RawRequest>([
      [3, () => this.create(path, this.random.pick([[], OPEN]), OpCode.create)],
      [3, () => this.read(this.random.pick([OpCode.exists, OpCode.getData, OpCode.getChildren2]), path)],
      [2, () => this.delete(path.startsWith('/zookeeper/n') ? '/' : path)],
      [2, () => this.versioned(OpCode.setData, 'setData without data', path)],
      [1, () => this.pathOnly(OpCode.getAcl, path)],
      [1, () => composed(OpCode.multi, [this.createInMulti(), this.delete('bad')])],
      [1, () => composed(OpCode.multi, [this.read(OpCode.getData)])],
      [1, () => composed(OpCode.multiRead, [this.delete(this.path())])],
      [1, () => composed(OpCode.multi, [{ type: 77, text: 'unknown part', encode: () => undefined }])],
    ])();
  }

  /** A request whose body ends too early. */
  private truncated(): RawRequest {
    const type = this.random.pick([
      OpCode.create,
      OpCode.delete,
      OpCode.setData,
      OpCode.getData,
      OpCode.exists,
      OpCode.getChildren2,
      OpCode.multi,
      OpCode.addWatch,
    ]);
    return this.random.chance(0.5)
      ? { type, text: `operation ${type} without body`, encode: () => undefined }
      : { type, text: `operation ${type} with a null path`, encode: (writer) => writer.int(-1) };
  }
}

function createPlain(path: string, flags: number): RawRequest {
  return {
    type: OpCode.create2,
    text: `create ${path}`,
    encode: (writer) => {
      writer.string(path);
      writer.bytes(Buffer.alloc(0));
      writeAcl(writer, OPEN);
      writer.int(flags);
    },
  };
}

function composed(type: number, parts: RawRequest[]): RawRequest {
  return {
    type,
    text: `${type === OpCode.multi ? 'multi' : 'multiRead'} [${parts.map(({ text }) => text).join('; ')}]`,
    encode: (writer) => {
      for (const part of parts) {
        writer.int(part.type);
        writer.bool(false);
        writer.int(-1);
        part.encode(writer);
      }
      writer.int(-1);
      writer.bool(true);
      writer.int(-1);
    },
  };
}

function writeAcl(writer: JuteWriter, acl: AclEntry[]): void {
  writer.int(acl.length);
  for (const { permissions, scheme, id } of acl) {
    writer.int(permissions);
    if (scheme === null) writer.int(-1);
    else writer.string(scheme);
    writer.string(id);
  }
}
