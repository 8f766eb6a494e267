import type { ProviderContext } from '@nodepool/core';
import {
  backoffMs,
  decodeNode,
  delay,
  encodeNode,
  isZooKeeperError,
  lockFailure,
  lockOps,
  steadyNow,
} from '@nodepool/zk-protocol';
import { nodeLockPath, nodePath, requestPath, withNode } from '@nodepool/zk-protocol';
import type { NodeId, NodeRecord, Operation, RequestRecord } from '@nodepool/zk-protocol';
import { deleteRequest } from './backing-request-index.js';
import { formatBackingData } from './user-data.js';

const RETRY = { firstMs: 50, longestMs: 2_000 };
/** Time limit for locking a node. */
const PATIENCE_MS = 30_000;

/** A fulfilled backing request and its use. */
export interface TakeOver {
  readonly request: RequestRecord;
  readonly owner: string;
  /** The label of the slots. */
  readonly label: string;
  readonly slots: number;
}

/**
 * Turns the node of a fulfilled backing request into a backing node. One transaction sets the permanent lock, `in-use` and
 * `user_data`, and deletes the request, so that the node always has exactly one owner.
 * @returns false if another process took the node; the request is then deleted too
 */
export async function takeOver(context: ProviderContext, order: TakeOver, signal: AbortSignal): Promise<boolean> {
  const { clock, random } = context;
  const [id] = order.request.nodeIds;
  const path = requestPath(order.request.id);
  const endsMs = steadyNow(clock) + PATIENCE_MS;
  let directoryExists: boolean | undefined;
  for (let attempt = 0; ; attempt++) {
    signal.throwIfAborted();
    if (context.requests.get(order.request.id) === undefined) return false;
    const node = id === undefined ? undefined : await readNode(context, id);
    const isOurs = node?.state === 'ready' && node.allocatedTo === order.request.id;
    if (!isOurs || steadyNow(clock) >= endsMs) {
      await deleteRequest(context, path);
      return false;
    }
    directoryExists ??= context.nodes.hasLockDirectory(node.id);
    const outcome = await tryOnce(context, order, node, directoryExists);
    if (outcome === 'taken') return true;
    if (outcome === 'stale') directoryExists = !directoryExists;
    const pause = backoffMs(attempt, RETRY, random);
    if (outcome !== 'stale' || attempt > 2) await delay(clock, pause, signal);
  }
}

async function readNode(context: ProviderContext, id: NodeId): Promise<NodeRecord | undefined> {
  try {
    const { data, stat } = await context.zk.getData(nodePath(id));
    return decodeNode(id, data, stat, context.clock.now());
  } catch (error) {
    if (isZooKeeperError(error, 'ZK_NO_NODE')) return undefined;
    throw error;
  }
}

/** As in the Python implementation, a backing node is as old as its request. Each leader of the ensemble has another clock. */
function ageMs({ agreedNow, madeMs }: ProviderContext, { stat }: RequestRecord, now: number): number {
  if (!stat) return 0;
  return Math.max(0, (agreedNow?.() ?? now) - (madeMs?.(stat) ?? stat.ctime));
}

async function tryOnce(
  context: ProviderContext,
  { request, owner, label, slots }: TakeOver,
  node: NodeRecord,
  directoryExists: boolean,
): Promise<'taken' | 'stale' | 'busy'> {
  const now = context.clock.now();
  const root = nodeLockPath(node.id);
  const launchedMs = now - ageMs(context, request, now);
  const userData = formatBackingData({ owner, label, slots, failed: false, launchedMs, claims: new Map() });
  const taken = withNode(node, { state: 'in-use', userData }, now, 'metastatic');
  const operations: Operation[] = [
    ...lockOps(root, { directoryExists, ephemeral: false, identifier: owner }).ops,
    { op: 'set', path: nodePath(node.id), data: encodeNode(taken), version: node.stat?.version ?? -1 },
    { op: 'delete', path: requestPath(request.id) },
  ];
  try {
    await context.committer.commit(operations);
    return 'taken';
  } catch (error) {
    if (lockFailure(error, operations, root) === 'stale') return 'stale';
    if (isZooKeeperError(error, 'ZK_NOT_EMPTY', 'ZK_BAD_VERSION', 'ZK_NO_NODE')) return 'busy';
    throw error;
  }
}
