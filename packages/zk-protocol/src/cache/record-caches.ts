import type { Clock } from '../base/clock.js';
import type { ZooKeeper } from '../client/contract/types.js';
import {
  COMPONENTS_ROOT,
  CONTROLS_ROOT,
  componentsPath,
  LEASE_TOKENS_ROOT,
  LEASES_ROOT,
  LEGACY_LAUNCHERS_ROOT,
  NODES_ROOT,
  REQUEST_LOCKS_ROOT,
  REQUESTS_ROOT,
} from '../records/paths.js';
import { decodeComponent, decodeLegacyLauncher } from '../records/component.js';
import { CONTROL_KINDS, decodeControl } from '../records/control.js';
import type { ControlRecord } from '../records/control.js';
import { decodeLease, type LeaseRecord } from '../records/lease.js';
import { decodeLeaseToken, type LeaseTokenRecord } from '../records/lease-token.js';
import { decodeNode } from '../records/node.js';
import { decodeRequest } from '../records/request.js';
import type { ComponentRecord, NodeId, NodeRecord, PoolComponentRecord, RequestId } from '../records/types.js';
import type { RequestRecord } from '../records/types.js';
import type { ZooKeeperLogger } from '../base/logger.js';
import { TreeCache } from './tree-cache.js';
import type { CommitTarget, LockAware, RecordCache } from './types.js';

/** Options of every cache. */
export interface CacheOptions {
  readonly zk: ZooKeeper;
  readonly clock: Clock;
  readonly logger: ZooKeeperLogger;
}

/** Options of the cache of nodes. */
export interface NodeCacheOptions extends CacheOptions {
  /** Directory of the nodes. @default /nodepool/nodes */
  readonly root?: string | undefined;
}

/** Nodes by id, with the contenders for their locks. */
export type NodeCache = RecordCache<NodeRecord> & LockAware & CommitTarget;
/** Requests by id, with the contenders for their locks. */
export type RequestCache = RecordCache<RequestRecord> & LockAware & CommitTarget;
/** Registered processes and pools by `<kind>/<last part of the path>`, legacy launchers by `launchers/<launcher id>`. */
export type ComponentCache = RecordCache<ComponentRecord | PoolComponentRecord> & CommitTarget;

/** Operator controls (pause, drain, limit) by `<kind>/<encoded name>`. */
export type ControlCache = RecordCache<ControlRecord>;

/** Leases by id. */
export type LeaseCache = RecordCache<LeaseRecord> & CommitTarget;
/** Tokens for leases by name. */
export type LeaseTokenCache = RecordCache<LeaseTokenRecord> & CommitTarget;

/** Mirrors the nodes. */
export function createNodeCache(options: NodeCacheOptions): NodeCache {
  const { zk, clock, logger, root = NODES_ROOT } = options;
  return new TreeCache<NodeRecord>({
    ...{ zk, clock, logger, what: 'node', watchRoots: [root], locks: true },
    directories: [{ path: root, idPrefix: '' }],
    decode: (id, body, stat) => decodeNode(id as NodeId, body, stat, clock.now()),
  });
}

/** Mirrors the requests. */
export function createRequestCache({ zk, clock, logger }: CacheOptions): RequestCache {
  return new TreeCache<RequestRecord>({
    ...{ zk, clock, logger, what: 'request', watchRoots: [REQUESTS_ROOT, REQUEST_LOCKS_ROOT], locks: true },
    directories: [{ path: REQUESTS_ROOT, idPrefix: '', lockRoot: REQUEST_LOCKS_ROOT }],
    decode: (id, body, stat) => decodeRequest(id as RequestId, body, stat, clock.now()),
  });
}

const COMPONENT_KINDS = ['launcher', 'builder', 'pool'];
const LEGACY_PREFIX = 'launchers/';

/** Mirrors the registered launchers, builders and pools, and the pools of launchers that predate the registry. */
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

/** Mirrors the operator controls, including expired ones. */
export function createControlCache({ zk, clock, logger }: CacheOptions): ControlCache {
  return new TreeCache<ControlRecord>({
    ...{ zk, clock, logger, what: 'control', watchRoots: [CONTROLS_ROOT], locks: false },
    directories: CONTROL_KINDS.map((kind) => ({ path: `${CONTROLS_ROOT}/${kind}`, idPrefix: `${kind}/` })),
    decode: (id, body, stat) => decodeControl(id, body, stat),
  });
}

/** Mirrors the leases. */
export function createLeaseCache({ zk, clock, logger }: CacheOptions): LeaseCache {
  return new TreeCache<LeaseRecord>({
    ...{ zk, clock, logger, what: 'lease', watchRoots: [LEASES_ROOT], locks: false },
    directories: [{ path: LEASES_ROOT, idPrefix: '' }],
    decode: (id, body, stat) => decodeLease(id, body, stat),
  });
}

/** Mirrors the tokens for leases, including expired ones. */
export function createLeaseTokenCache({ zk, clock, logger }: CacheOptions): LeaseTokenCache {
  return new TreeCache<LeaseTokenRecord>({
    ...{ zk, clock, logger, what: 'lease token', watchRoots: [LEASE_TOKENS_ROOT], locks: false },
    directories: [{ path: LEASE_TOKENS_ROOT, idPrefix: '' }],
    decode: (name, body, stat) => decodeLeaseToken(name, body, stat),
  });
}
