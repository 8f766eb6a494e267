import type { Acl } from '../../client/contract/types.js';
import { isEphemeral } from './owners.js';
import type { NodeStat } from './replies.js';

/** A znode as it is kept in memory. */
export interface Znode {
  data: Buffer | null;
  acl: readonly Acl[];
  czxid: number;
  mzxid: number;
  pzxid: number;
  ctime: number;
  mtime: number;
  version: number;
  /** Children ever created; sequence numbers come from it. Clients see a number derived from it, see {@link statOf}. */
  childrenCreated: number;
  aversion: number;
  owner: bigint;
  /** Names; absent while it never had any. */
  children: Set<string> | undefined;
  /** Number of the snapshot that has it already, see `SnapshotCursor`. */
  snapshotMark: number;
}

/** A znode of transaction `zxid`. */
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

/** Its metadata now. */
export function statOf(node: Znode): NodeStat {
  const numChildren = node.children?.size ?? 0;
  return {
    czxid: node.czxid,
    mzxid: node.mzxid,
    ctime: node.ctime,
    mtime: node.mtime,
    version: node.version,
    // Every child created counts once, every child deleted once more.
    cversion: (node.childrenCreated * 2 - numChildren) | 0,
    aversion: node.aversion,
    // Containers and TTL znodes use the same field inside, which clients do not see.
    ephemeralOwner: isEphemeral(node.owner) ? node.owner : 0n,
    dataLength: node.data?.length ?? 0,
    numChildren,
    pzxid: node.pzxid,
  };
}
