import {
  decodeNode,
  encodeNode,
  isNodepoolError,
  isZooKeeperError,
  nodeLockPath,
  nodePath,
  requestPath,
  withNode,
  ZkLock,
  type Clock,
  type NodeId,
  type NodeRecord,
  type RequestId,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import { ApiError } from '@nodepool/daemon';

/** How long to wait for another process to let go of a node. */
const LOCK_TIMEOUT_MS = 5_000;

/** Where actions are done. */
export interface ActionSources {
  readonly zk: ZooKeeper;
  readonly clock: Clock;
  readonly nodes: { get(id: string): NodeRecord | undefined };
  readonly hostname: string;
}

/** What a node becomes, and why. */
export interface NodeAction {
  readonly state: 'hold' | 'deleting';
  readonly actor: string;
  readonly comment?: string | undefined;
  /** How long it is held; `undefined`: as long as `max-hold-age` allows. */
  readonly holdMs?: number | undefined;
}

/**
 * Changes a node's state under its lock, as `nodepool hold` and `nodepool delete` do.
 * @throws ApiError 404 unknown, 409 another process keeps its lock
 */
export async function changeNode(sources: ActionSources, id: string, action: NodeAction): Promise<NodeRecord> {
  const { zk, clock, nodes, hostname } = sources;
  const unknown = () => new ApiError(404, 'unknown-node', `There is no node "${id}"`);
  if (!nodes.get(id)) throw unknown();
  const lock = new ZkLock(zk, nodeLockPath(id as NodeId), { identifier: `web:${action.actor}@${hostname}`, clock });
  try {
    await lock.acquire({ timeoutMs: LOCK_TIMEOUT_MS });
  } catch (error) {
    if (!isNodepoolError(error, 'NODEPOOL_LOCK_TIMEOUT')) throw error;
    const who = nodes.get(id)?.allocatedTo;
    const holder = who ? `; it is allocated to request ${who}` : '';
    throw new ApiError(
      409,
      'locked',
      `Node ${id} is locked by another process${holder}: ask again once it is given back`,
    );
  }
  try {
    const { data, stat } = await zk.getData(nodePath(id as NodeId));
    const node = decodeNode(id as NodeId, data, stat, clock.now());
    if (!node) throw unknown();
    const hold = {
      ...(action.comment !== undefined && { comment: action.comment }),
      ...(action.holdMs !== undefined && { holdExpirationMs: action.holdMs }),
    };
    const changed = withNode(node, { state: action.state, ...hold }, clock.now(), 'operator');
    await zk.setData(nodePath(node.id), encodeNode(changed), node.stat?.version);
    return changed;
  } catch (error) {
    if (isZooKeeperError(error, 'ZK_NO_NODE')) throw unknown();
    if (isZooKeeperError(error, 'ZK_BAD_VERSION')) {
      throw new ApiError(409, 'changed', `Node ${id} has changed meanwhile: ask again`);
    }
    throw error;
  } finally {
    await lock.release();
  }
}

/** Deletes a request as its requestor would. @throws ApiError 404 */
export async function cancelRequest(zk: ZooKeeper, id: string): Promise<void> {
  try {
    await zk.delete(requestPath(id as RequestId));
  } catch (error) {
    if (!isZooKeeperError(error, 'ZK_NO_NODE')) throw error;
    throw new ApiError(404, 'unknown-request', `There is no request "${id}"`);
  }
}
