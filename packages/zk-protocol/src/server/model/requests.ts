import type { Acl } from '../../client/contract/types.js';

/** How {@link CreateRequest.op} differ: what the reply holds, and what kind of znode is made. */
export type CreateOp = 'create' | 'create2' | 'createContainer' | 'createTtl';

/** Makes a znode. */
export interface CreateRequest {
  op: CreateOp;
  path: string;
  /** `null` is stored as such: reading it gives `null` again. */
  data: Buffer | null;
  acl: readonly Acl[];
  /** ZooKeeper's create mode: 0 plain, 1 ephemeral, 2 sequential, 3 both, 4 container, 5 TTL, 6 sequential TTL. */
  flags: number;
  /** Milliseconds; only for `createTtl`. */
  ttlMs?: number;
}

/** Requests that may stand in a multi. `version` -1 means any. */
export type MultiPart =
  | CreateRequest
  | { op: 'delete'; path: string; version: number }
  | { op: 'setData'; path: string; data: Buffer | null; version: number }
  | { op: 'check'; path: string; version: number };

/** Requests that may stand in a multiRead. */
export type ReadPart =
  { op: 'getData'; path: string; watch: boolean } | { op: 'getChildren'; path: string; watch: boolean };

/** Which watches to remove or look for. */
export type WatcherType = 'children' | 'data' | 'any';

/** Watches that a client sets again after a reconnect, with the last zxid it has seen. */
export interface SetWatchesRequest {
  op: 'setWatches';
  relativeZxid: number;
  data: readonly string[];
  exist: readonly string[];
  child: readonly string[];
  persistent: readonly string[];
  persistentRecursive: readonly string[];
}

/** Everything a client can ask of the model on an established session. */
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
  /** A request that cannot be carried out: a write still uses up a zxid, as it does in ZooKeeper. */
  | { op: 'refused'; error: number; isWrite: boolean };
