import { OpCode } from '../../src/server/model/constants.js';
import { ACLS, Operands, STRANGE_PATHS } from './operands.js';
import type { Random } from './random.js';
import type { RawRequest } from './raw-client.js';
import {
  bare,
  composed,
  create,
  createWith,
  exists,
  OPEN,
  pathAndNumber,
  pathOnly,
  read,
  setAcl,
  setDataTo,
  versioned,
} from './raw-requests.js';

const PROBE_XID = 1_000_000_000;

/** Makes random requests over a small set of paths, so that they meet each other often. */
export class OperationSource {
  private readonly operands: Operands;

  constructor(
    private readonly random: Random,
    private readonly basePath: string,
  ) {
    this.operands = new Operands(random, basePath);
  }

  /** Any request that a session may send at any time. */
  next(): RawRequest {
    const make = this.random.weighted<() => RawRequest>([
      [30, () => this.create(this.operands.path())],
      [14, () => this.delete(this.operands.path())],
      [14, () => this.setData(this.operands.path())],
      [10, () => this.read(OpCode.exists)],
      [10, () => this.read(OpCode.getData)],
      [8, () => this.read(OpCode.getChildren)],
      [8, () => this.read(OpCode.getChildren2)],
      [10, () => this.multi()],
      [4, () => this.multiRead()],
      [5, () => this.addWatch()],
      [3, () => this.removeWatches()],
      [
        2,
        () =>
          pathOnly(this.random.pick([OpCode.getAcl, OpCode.sync, OpCode.getAllChildrenNumber]), this.operands.path()),
      ],
      [2, () => this.getEphemerals()],
      [1, () => bare(OpCode.whoAmI)],
      [3, () => this.strange()],
      [2, () => this.truncated()],
      [2, () => this.createWithAcl()],
    ]);
    return make();
  }

  /** Changes the ACL of a znode; apart from the others because an answer is needed before what depends on it. */
  setAcl(): RawRequest {
    const path = this.random.chance(0.2) ? this.operands.path() : this.operands.aclPath();
    const acl = this.random.pick([OPEN, OPEN, ...ACLS]);
    const version = this.operands.version();
    return setAcl(path, acl, version);
  }

  /** What a client sends after it came back; transaction ids differ between servers, hence the argument. */
  setWatches(): (relativeZxid: number) => RawRequest {
    const list = () => Array.from({ length: this.random.below(3) }, () => this.operands.path());
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
    return bare(OpCode.ping);
  }

  /** Makes the znode that everything else happens below. */
  base(): RawRequest {
    return create(this.basePath);
  }

  /** An ephemeral, and a request that tells whether it is there. */
  expiryProbe(): { create: RawRequest; read: RawRequest } {
    const path = `/${this.basePath.slice(1)}-ephemeral`;
    return {
      create: create(path, 1),
      // Asked again and again, on each server as often as it takes.
      read: { ...exists(path), xid: PROBE_XID },
    };
  }

  private create(path: string, acl = OPEN, type = this.createType(), flags = this.createFlags(type)): RawRequest {
    const at = flags === 2 || flags === 3 || flags === 6 ? `${path.slice(0, path.lastIndexOf('/') + 1)}s` : path;
    const data = this.operands.data();
    const ttl = this.random.pick([100_000, 100_000, 0, -5]);
    return createWith({ type, path: at, data, acl, flags, ttl });
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
    return this.create(
      this.operands.path(),
      OPEN,
      type,
      type === OpCode.createTtl ? 5 : this.random.pick([0, 0, 1, 2, 3, 4]),
    );
  }

  private createWithAcl(): RawRequest {
    return this.create(this.operands.aclPath(), this.random.pick(ACLS));
  }

  private delete(path: string): RawRequest {
    return versioned(OpCode.delete, 'delete', path, this.operands.version());
  }

  private setData(path: string): RawRequest {
    const version = this.operands.version();
    return setDataTo(path, this.operands.data(), version);
  }

  private read(
    type: number,
    path = this.random.chance(0.05) ? this.operands.aclPath() : this.operands.path(),
  ): RawRequest {
    return read(type, path, this.random.chance(0.4));
  }

  private multi(): RawRequest {
    const parts = Array.from({ length: this.random.below(6) }, () =>
      this.random.weighted<() => RawRequest>([
        [10, () => this.createInMulti()],
        [5, () => this.delete(this.operands.path())],
        [8, () => this.setData(this.operands.path())],
        [5, () => versioned(OpCode.check, 'check', this.operands.path(), this.operands.version())],
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
    const path = this.random.chance(0.3) ? this.basePath : this.operands.path();
    const mode = this.random.pick([0, 0, 0, 1, 1, 1, 1, 2]);
    return pathAndNumber(OpCode.addWatch, `addWatch ${path} mode ${mode}`, path, mode);
  }

  private removeWatches(): RawRequest {
    const path = this.operands.path();
    const type = this.random.pick([OpCode.removeWatches, OpCode.removeWatches, OpCode.checkWatches]);
    const watcherType = this.random.pick([1, 2, 3, 3, 3, 9]);
    return pathAndNumber(type, `watches(${type}) ${path} type ${watcherType}`, path, watcherType);
  }

  private getEphemerals(): RawRequest {
    return pathOnly(OpCode.getEphemerals, this.random.pick(['/', '', this.basePath, `${this.basePath}/a`, '/none']));
  }

  private strange(): RawRequest {
    const path = this.random.pick(STRANGE_PATHS);
    return this.random.weighted<() => RawRequest>([
      [3, () => this.create(path, this.random.pick([[], OPEN]), OpCode.create)],
      [3, () => this.read(this.random.pick([OpCode.exists, OpCode.getData, OpCode.getChildren2]), path)],
      [2, () => this.delete(path.startsWith('/zookeeper/n') ? '/' : path)],
      [2, () => versioned(OpCode.setData, 'setData without data', path, this.operands.version())],
      [1, () => pathOnly(OpCode.getAcl, path)],
      [1, () => composed(OpCode.multi, [this.createInMulti(), this.delete('bad')])],
      [1, () => composed(OpCode.multi, [this.read(OpCode.getData)])],
      [1, () => composed(OpCode.multiRead, [this.delete(this.operands.path())])],
      [1, () => composed(OpCode.multi, [{ ...bare(77), text: 'unknown part' }])],
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
      ? { ...bare(type), text: `operation ${type} without body` }
      : { type, text: `operation ${type} with a null path`, encode: (writer) => writer.int(-1) };
  }
}
