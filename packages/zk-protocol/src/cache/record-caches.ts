import type { Clock } from '../base/clock.js';
import type { ZooKeeper } from '../client/contract/types.js';
import {
  COMPONENTS_ROOT,
  CONTROLS_ROOT,
  componentsPath,
  LEGACY_LAUNCHERS_ROOT,
  NODES_ROOT,
  REQUEST_LOCKS_ROOT,
  REQUESTS_ROOT,
} from '../records/paths.js';
import { decodeComponent, decodeLegacyLauncher } from '../records/component.js';
import { CONTROL_KINDS, decodeControl } from '../records/control.js';
import type { ControlRecord } from '../records/control.js';
import { decodeNode } from '../records/node.js';
import { decodeRequest } from '../records/request.js';
import type { ComponentRecord, NodeId, NodeRecord, PoolComponentRecord, RequestId } from '../records/types.js';
import type { RequestRecord } from '../records/types.js';
import type { CacheLogger } from './logger.js';
import { TreeCache } from './tree-cache.js';
import type { CommitTarget, LockAware, RecordCache } from './types.js';

/** How late changes of others' nodes are shown: a node that is made, taken or given back changes several times in a row. */
const OTHERS_NODES_MS = 1_000;
/** How late changes of requests are shown that others have locked. */
const LOCKED_REQUESTS_MS = 250;

/** Options of every cache. */
export interface CacheOptions {
  readonly zk: ZooKeeper;
  readonly clock: Clock;
  readonly logger: CacheLogger;
}

/** Options of the cache of nodes. */
export interface NodeCacheOptions extends CacheOptions {
  /** Default: where nodes are. */
  readonly root?: string | undefined;
  /** Changes of the node concern others first: they are shown within a second, or when somebody asks. Default: no node's do. */
  readonly isOthers?: ((node: NodeRecord) => boolean) | undefined;
  /**
   * What others do with the node while they have its lock concerns them first, and so does that they give it up: it is shown
   * as late, and as locked until then. Default: no node's does.
   */
  readonly isOthersWhileLocked?: ((node: NodeRecord) => boolean) | undefined;
  /** A new node concerns others first, whatever its record says: it is shown as late as those. Default: none does. */
  readonly isOthersUnread?: ((id: NodeId) => boolean) | undefined;
}

/** Options of the cache of requests. */
export interface RequestCacheOptions extends CacheOptions {
  /** What another process does with a request that it has locked is shown 250 ms later, or when it gives the lock up. */
  readonly lateWhileLocked?: boolean | undefined;
  /** A new request concerns others first, whatever it asks for: it is shown 250 ms later. Default: none does. */
  readonly isOthersUnread?: ((id: RequestId) => boolean) | undefined;
}

/** Nodes by id, with the contenders for their locks. */
export type NodeCache = RecordCache<NodeRecord> & LockAware & CommitTarget;
/** Requests by id, with the contenders for their locks. */
export type RequestCache = RecordCache<RequestRecord> & LockAware & CommitTarget;
/** Running processes and pools by `<kind>/<last part of the path>`, legacy launchers by `launchers/<launcher id>`. */
export type ComponentCache = RecordCache<ComponentRecord | PoolComponentRecord> & CommitTarget;

/** Orders of operators by `<kind>/<encoded name>`. */
export type ControlCache = RecordCache<ControlRecord>;

/** Mirrors the nodes. */
export function createNodeCache(options: NodeCacheOptions): NodeCache {
  const { zk, clock, logger, root = NODES_ROOT, isOthers, isOthersWhileLocked, isOthersUnread } = options;
  return new TreeCache<NodeRecord>({
    ...{ zk, clock, logger, what: 'node', watchRoots: [root], locks: true },
    othersWork: {
      ...{ isOthers, isOthersWhileLocked },
      isOthersUnread: isOthersUnread && ((id) => isOthersUnread(id as NodeId)),
      lateMs: OTHERS_NODES_MS,
    },
    directories: [{ path: root, idPrefix: '' }],
    decode: (id, body, stat) => decodeNode(id as NodeId, body, stat, clock.now()),
  });
}

/** Mirrors the requests. */
export function createRequestCache(options: RequestCacheOptions): RequestCache {
  const { zk, clock, logger, lateWhileLocked, isOthersUnread } = options;
  return new TreeCache<RequestRecord>({
    ...{ zk, clock, logger, what: 'request', watchRoots: [REQUESTS_ROOT, REQUEST_LOCKS_ROOT], locks: true },
    othersWork: {
      isOthersUnread: isOthersUnread && ((id) => isOthersUnread(id as RequestId)),
      whileLocked: lateWhileLocked,
      lateMs: LOCKED_REQUESTS_MS,
    },
    directories: [{ path: REQUESTS_ROOT, idPrefix: '', lockRoot: REQUEST_LOCKS_ROOT }],
    decode: (id, body, stat) => decodeRequest(id as RequestId, body, stat, clock.now()),
  });
}

const COMPONENT_KINDS = ['launcher', 'builder', 'pool'];
const LEGACY_PREFIX = 'launchers/';

/** Mirrors the registered launchers, builders and pools, and the pools of launchers older than that registry. */
export function createComponentCache({ zk, clock, logger }: CacheOptions): ComponentCache {
  return new TreeCache<ComponentRecord | PoolComponentRecord>({
    ...{ zk, clock, logger, what: 'component', watchRoots: [COMPONENTS_ROOT, LEGACY_LAUNCHERS_ROOT], locks: false },
    directories: [
      ...COMPONENT_KINDS.map((kind) => ({ path: componentsPath(kind), idPrefix: `${kind}/` })),
      { path: LEGACY_LAUNCHERS_ROOT, idPrefix: LEGACY_PREFIX },
    ],
    decode(id, body, stat) {
      const slash = id.indexOf('/');
      const name = id.slice(slash + 1);
      if (id.startsWith(LEGACY_PREFIX)) return decodeLegacyLauncher(name, body, stat);
      return decodeComponent(id.slice(0, slash), name, body, stat);
    },
  });
}

/** Mirrors the orders of operators, those whose time has ended included. */
export function createControlCache({ zk, clock, logger }: CacheOptions): ControlCache {
  return new TreeCache<ControlRecord>({
    ...{ zk, clock, logger, what: 'control', watchRoots: [CONTROLS_ROOT], locks: false },
    directories: CONTROL_KINDS.map((kind) => ({ path: `${CONTROLS_ROOT}/${kind}`, idPrefix: `${kind}/` })),
    decode: (id, body, stat) => decodeControl(id, body, stat),
  });
}
