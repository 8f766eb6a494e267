import type { Acl } from '../../client/contract/types.js';

/** Operations that create a znode; they differ in the reply and in the kind of znode. */
export type CreateOp = 'create' | 'create2' | 'createContainer' | 'createTtl';

/** Creates a znode. */
export interface CreateRequest {
  op: CreateOp;
  path: string;
  /** `null` is stored as such. */
  data: Buffer | null;
  acl: readonly Acl[];
  /** ZooKeeper's create mode: 0 plain, 1 ephemeral, 2 sequential, 3 both, 4 container, 5 TTL, 6 sequential TTL. */
  flags: number;
  /** Milliseconds; only for `createTtl`. */
  ttlMs?: number;
}

/** Operations of a multi. A `version` of -1 matches any. */
export type MultiPart =
  | CreateRequest
  | { op: 'delete'; path: string; version: number }
  | { op: 'setData'; path: string; data: Buffer | null; version: number }
  | { op: 'check'; path: string; version: number };

/** Reads of a multiRead. */
export type ReadPart =
  { op: 'getData'; path: string; watch: boolean } | { op: 'getChildren'; path: string; watch: boolean };

/** Type of watches to remove or check. */
export type WatcherType = 'children' | 'data' | 'any';

/** Watches that a client sets after a reconnect, with the last transaction that it has seen. */
export interface SetWatchesRequest {
  op: 'setWatches';
  relativeZxid: number;
  data: readonly string[];
  exist: readonly string[];
  child: readonly string[];
  persistent: readonly string[];
  persistentRecursive: readonly string[];
}

/** Any request of an established session. */
export type Request =
  | MultiPart
  | ReadPart
  | SetWatchesRequest
  | { op: 'multi'; parts: readonly MultiPart[] }
  | { op: 'multiRead'; parts: readonly ReadPart[] }
  | { op: 'exists'; path: string; watch: boolean }
  | { op: 'getChildren2'; path: string; watch: boolean }
  | { op: 'getAcl'; path: string }
  | { op: 'setAcl'; path: string; acl: readonly Acl[]; version: number }
  | { op: 'sync'; path: string }
  | { op: 'ping' }
  | { op: 'addWatch'; path: string; mode: 'persistent' | 'persistent-recursive' }
  | { op: 'checkWatches' | 'removeWatches'; path: string; type: WatcherType }
  | { op: 'getEphemerals'; prefix: string }
  | { op: 'getAllChildrenNumber'; path: string }
  | { op: 'whoAmI' }
  | { op: 'closeSession' }
  /** An invalid request. A write still consumes a transaction id, as in ZooKeeper. */
  | { op: 'refused'; error: number; isWrite: boolean };
