import { OPEN_ACL, READ_ACL } from './acl.js';
import { CONTAINER_OWNER, isEphemeral, ttlOf } from './owners.js';
import { nameOf, parentOf } from './paths.js';
import type { Change } from './transactions.js';
import { createZnode, type Znode } from './znode.js';

/** Reverts one applied change. */
export type Undo = () => void;

/** The changed znode and its parent after the change; both objects remain valid after a deletion. */
export interface Touched {
  node: Znode;
  parent: Znode;
}

/** A change of the tree. */
export type TreeChange = Exclude<Change, { change: 'createSession' | 'closeSession' }>;

const SPECIAL_PATHS = new Set(['/', '/zookeeper', '/zookeeper/quota', '/zookeeper/config']);

/** Whether a znode always exists and cannot be deleted. */
export function isSpecialPath(path: string): boolean {
  return SPECIAL_PATHS.has(path);
}

/** The znodes. Applies planned changes without checks; independent of sessions, watches and permissions. */
export class DataTree {
  private readonly nodes = new Map<string, Znode>();
  private readonly ephemerals = new Map<bigint, Set<string>>();
  /** Total length of these paths. */
  private readonly ephemeralLengths = new Map<bigint, number>();
  private readonly ttlPaths = new Set<string>();
  private readonly containerPaths = new Set<string>();
  private readonly root: Znode;
  /** Called before a znode is changed or deleted; set while a snapshot is taken. */
  beforeChange: ((path: string, node: Znode) => void) | undefined;
  /** Snapshot mark of new znodes, which are not part of a running snapshot. */
  newNodeMark = 0;

  constructor() {
    this.root = createZnode(Buffer.alloc(0), OPEN_ACL, 0n, 0, 0);
    this.nodes.set('/', this.root);
    for (const path of SPECIAL_PATHS) {
      if (path !== '/') this.attach(path, createZnode(Buffer.alloc(0), OPEN_ACL, 0n, 0, 0));
    }
    const config = this.get('/zookeeper/config');
    if (config !== undefined) Object.assign(config, { acl: READ_ACL, aversion: -1 });
  }

  /** Number of znodes, including the root. */
  get size(): number {
    return this.nodes.size;
  }

  /** Number of ephemeral znodes. */
  get ephemeralCount(): number {
    let total = 0;
    for (const paths of this.ephemerals.values()) total += paths.size;
    return total;
  }

  /** The znode at a path; the empty path is the root, as in ZooKeeper. */
  get(path: string): Znode | undefined {
    return path === '' ? this.root : this.nodes.get(path);
  }

  entries(): IterableIterator<[string, Znode]> {
    return this.nodes.entries();
  }

  /** Paths of a session's ephemerals, in order of creation. */
  ephemeralsOf(sessionId: bigint): ReadonlySet<string> {
    return this.ephemerals.get(sessionId) ?? new Set();
  }

  /** Total length of the paths of a session's ephemerals. */
  ephemeralLengthOf(sessionId: bigint): number {
    return this.ephemeralLengths.get(sessionId) ?? 0;
  }

  /** Sessions that own ephemerals. */
  ephemeralOwners(): IterableIterator<[bigint, ReadonlySet<string>]> {
    return this.ephemerals.entries();
  }

  ttlNodes(): ReadonlySet<string> {
    return this.ttlPaths;
  }

  containers(): ReadonlySet<string> {
    return this.containerPaths;
  }

  /** Applies a change, and appends a function that reverts it to `undo`. */
  apply(change: TreeChange, zxid: number, timeMs: number, undo?: Undo[]): Touched {
    switch (change.change) {
      case 'create':
        return this.create(change, zxid, timeMs, undo);
      case 'delete':
        return this.delete(change.path, zxid, undo);
      case 'setData': {
        const node = this.changing(change.path);
        const { data, version, mzxid, mtime } = node;
        undo?.push(() => Object.assign(node, { data, version, mzxid, mtime }));
        node.data = change.data;
        node.version = change.version;
        node.mzxid = zxid;
        node.mtime = timeMs;
        return { node, parent: node };
      }
      case 'setAcl': {
        const node = this.changing(change.path);
        const { acl, aversion } = node;
        undo?.push(() => Object.assign(node, { acl, aversion }));
        node.acl = change.acl;
        node.aversion = change.version;
        return { node, parent: node };
      }
    }
  }

  /** Adds a znode of a snapshot; call {@link linkRestored} after the last one. */
  restore(path: string, node: Znode): void {
    if (path === '/') {
      Object.assign(this.root, node, { children: this.root.children });
      return;
    }
    const present = this.nodes.get(path);
    if (present === undefined) this.nodes.set(path, node);
    else Object.assign(present, node, { children: present.children });
  }

  /** Rebuilds the lists of children and the indexes of ephemerals, containers and TTL znodes. */
  linkRestored(): void {
    for (const [path, node] of this.nodes) {
      if (path !== '/') this.attach(path, node);
    }
  }

  private create(change: Extract<Change, { change: 'create' }>, zxid: number, timeMs: number, undo?: Undo[]): Touched {
    const { path } = change;
    const parent = this.changing(parentOf(path));
    const { childrenCreated, pzxid } = parent;
    undo?.push(() => {
      this.detach(path);
      Object.assign(parent, { childrenCreated, pzxid });
    });
    parent.childrenCreated++;
    parent.pzxid = zxid;
    const node = createZnode(change.data, change.acl, change.owner, zxid, timeMs);
    node.snapshotMark = this.newNodeMark;
    this.attach(path, node);
    return { node, parent };
  }

  private delete(path: string, zxid: number, undo?: Undo[]): Touched {
    const node = this.changing(path);
    const parent = this.changing(parentOf(path));
    const { pzxid } = parent;
    undo?.push(() => {
      this.attach(path, node);
      parent.pzxid = pzxid;
    });
    this.detach(path);
    parent.pzxid = zxid;
    return { node, parent };
  }

  private attach(path: string, node: Znode): void {
    this.nodes.set(path, node);
    const parent = this.existing(parentOf(path));
    (parent.children ??= new Set()).add(nameOf(path));
    const { owner } = node;
    if (owner === 0n) return;
    if (owner === CONTAINER_OWNER) this.containerPaths.add(path);
    else if (ttlOf(owner) !== undefined) this.ttlPaths.add(path);
    else if (isEphemeral(owner)) this.addEphemeral(owner, path);
  }

  private detach(path: string): void {
    const { owner } = this.existing(path);
    this.nodes.delete(path);
    this.existing(parentOf(path)).children?.delete(nameOf(path));
    if (owner === 0n) return;
    this.containerPaths.delete(path);
    this.ttlPaths.delete(path);
    this.removeEphemeral(owner, path);
  }

  private addEphemeral(owner: bigint, path: string): void {
    let paths = this.ephemerals.get(owner);
    if (paths === undefined) this.ephemerals.set(owner, (paths = new Set()));
    if (paths.has(path)) return;
    paths.add(path);
    this.ephemeralLengths.set(owner, this.ephemeralLengthOf(owner) + path.length);
  }

  private removeEphemeral(owner: bigint, path: string): void {
    const paths = this.ephemerals.get(owner);
    if (paths?.delete(path) !== true) return;
    this.ephemeralLengths.set(owner, this.ephemeralLengthOf(owner) - path.length);
    if (paths.size > 0) return;
    this.ephemerals.delete(owner);
    this.ephemeralLengths.delete(owner);
  }

  private changing(path: string): Znode {
    const node = this.existing(path);
    this.beforeChange?.(path === '' ? '/' : path, node);
    return node;
  }

  private existing(path: string): Znode {
    const node = this.get(path);
    if (node === undefined) throw new Error(`embedded ZooKeeper: znode ${path} should exist; the data is inconsistent`);
    return node;
  }
}
