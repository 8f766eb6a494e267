import type { Acl } from '../../client/contract/types.js';
import { isEphemeral } from './owners.js';
import type { NodeStat } from './replies.js';

/** A znode in memory. */
export interface Znode {
  data: Buffer | null;
  acl: readonly Acl[];
  czxid: number;
  mzxid: number;
  pzxid: number;
  ctime: number;
  mtime: number;
  version: number;
  /** Number of children ever created, the source of sequence numbers. Clients see a derived number, see {@link statOf}. */
  childrenCreated: number;
  aversion: number;
  owner: bigint;
  /** Names of the children; `undefined` if it never had any. */
  children: Set<string> | undefined;
  /** Mark of the last snapshot that contains it, see `SnapshotSource`. */
  snapshotMark: number;
}

/** A znode created by transaction `zxid`. */
export function createZnode(
  data: Buffer | null,
  acl: readonly Acl[],
  owner: bigint,
  zxid: number,
  timeMs: number,
): Znode {
  return {
    data,
    acl,
    czxid: zxid,
    mzxid: zxid,
    pzxid: zxid,
    ctime: timeMs,
    mtime: timeMs,
    version: 0,
    childrenCreated: 0,
    aversion: 0,
    owner,
    children: undefined,
    snapshotMark: 0,
  };
}

/** Metadata of a znode for clients. */
export function statOf(node: Znode): NodeStat {
  const numChildren = node.children?.size ?? 0;
  return {
    czxid: node.czxid,
    mzxid: node.mzxid,
    ctime: node.ctime,
    mtime: node.mtime,
    version: node.version,
    // Each created child counts once, each deleted child once more.
    cversion: (node.childrenCreated * 2 - numChildren) | 0,
    aversion: node.aversion,
    // Clients do not see the internal owners of containers and TTL znodes.
    ephemeralOwner: isEphemeral(node.owner) ? node.owner : 0n,
    dataLength: node.data?.length ?? 0,
    numChildren,
    pzxid: node.pzxid,
  };
}
