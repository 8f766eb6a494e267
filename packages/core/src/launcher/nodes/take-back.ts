import {
  decodeRequest,
  encodeNode,
  isZooKeeperError,
  NODE_CREATE_PATH,
  nodeLockPath,
  nodePath,
  requestPath,
  withNode,
  type NodeRecord,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import type { Provider } from '../../contract/driver.js';
import type { Context } from '../state/context.js';
import { holdsNodes } from '../plan/nodes.js';
import { UNALLOCATED } from '../requests/release.js';
import {
  createdPath,
  isRefusal,
  proveNodeUnlocked,
  removeLockDirectory,
  setNode,
  Transaction,
} from '../state/transaction.js';

/**
 * Makes a ready node free again if the request that it is allocated to is gone or has been returned to the queue, or the work on it does
 * not know the node.
 */
export async function deallocateNode(context: Context, node: NodeRecord, isLeftOut = false): Promise<void> {
  const { clock, committer, logger } = context;
  const { id, allocatedTo } = node;
  if (allocatedTo === null || (!isLeftOut && holdsNodes(await readRequest(context, allocatedTo)))) return;
  const transaction = new Transaction<'lock' | 'record'>();
  transaction.add('lock', ...proveNodeUnlocked(context, node));
  transaction.add('record', setNode(withNode(node, UNALLOCATED, clock.now())));
  await transaction.commit(committer);
  const why = isLeftOut ? 'the work on its request does not know it' : 'its request was withdrawn';
  logger.info(`Deallocated node: ${why}`, { nodeId: id, requestId: allocatedTo });
}

/** Reads the request from ZooKeeper, as the mirror may be behind. */
async function readRequest({ zk, clock }: Context, id: RequestId): Promise<RequestRecord | undefined> {
  try {
    const { data, stat } = await zk.getData(requestPath(id));
    return decodeRequest(id, data, stat, clock.now());
  } catch (error) {
    if (isZooKeeperError(error, 'ZK_NO_NODE')) return undefined;
    throw error;
  }
}

/**
 * Deletes the node's record, after the resource behind it if there is one.
 * @param provider - of the node; `undefined` if this launcher does not have it
 * @param signal - aborted when the launcher stops
 * @returns `session-lost`: the lock ended with the session, so the record still exists; check the node again
 */
export async function deleteNode(
  context: Context,
  node: NodeRecord,
  provider: Provider | undefined,
  signal: AbortSignal,
): Promise<'deleted' | 'session-lost'> {
  const hasResource = provider !== undefined && node.state !== 'deleted' && ownsResource(provider, node);
  if (hasResource) return deleteWithResource(context, node, provider, signal);
  await deleteRecord(context, node, provider);
  return 'deleted';
}

function ownsResource(provider: Provider, node: NodeRecord): boolean {
  return provider.ownsResource?.(node) ?? node.externalId !== null;
}

/** Deletes a record without a resource in one transaction, which cannot conflict with a holder of the lock. */
async function deleteRecord(context: Context, node: NodeRecord, provider: Provider | undefined): Promise<void> {
  const { committer, mirror, logger } = context;
  const transaction = new Transaction<'lock' | 'record' | 'successor'>();
  if (mirror.nodes.hasLockDirectory(node.id)) transaction.add('lock', removeLockDirectory(node));
  transaction.add('record', removeNode(node));
  const successor = provider?.successorOf?.(node);
  if (successor) {
    const data = encodeNode(successor);
    transaction.add('successor', { op: 'create', path: NODE_CREATE_PATH, data, sequential: true });
  }
  await transaction.commit(committer);
  logger.info('Deleted node', { nodeId: node.id, provider: node.provider, state: node.state });
  provider?.nodeDeletedNotification?.(node);
}

async function deleteWithResource(
  context: Context,
  node: NodeRecord,
  provider: Provider,
  signal: AbortSignal,
): Promise<'deleted' | 'session-lost'> {
  const { zk, committer, mirror, clock, logger } = context;
  const epoch = zk.sessionEpoch;
  const lock = new Transaction<'lock' | 'record'>();
  const index = lock.lock('lock', nodeLockPath(node.id), mirror.nodes.hasLockDirectory(node.id));
  // its age is that of the deletion, not of the attempt
  const isAgain = node.state === 'deleting';
  const deleting = { state: 'deleting' as const, ...(isAgain && { stateTimeMs: node.stateTimeMs }) };
  lock.add('record', setNode(withNode(node, deleting, clock.now(), 'launcher')));
  const entry = createdPath(await lock.commit(committer), index);
  let locked = mirror.nodes.get(node.id) ?? node;
  try {
    await provider.startNodeCleanup(locked, signal);
    // the next holder of the lock, perhaps this process again, will find the resource gone
    if (zk.sessionEpoch !== epoch) return 'session-lost';
    locked = mirror.nodes.get(node.id) ?? locked;
    await removeLocked(context, locked, entry);
  } catch (error) {
    if (!isZooKeeperError(error)) await unlock(context, entry, epoch, signal);
    throw error;
  }
  logger.info('Deleted node', {
    nodeId: node.id,
    provider: node.provider,
    state: node.state,
    externalId: node.externalId,
  });
  provider.nodeDeletedNotification?.(locked);
  return 'deleted';
}

/**
 * Removes a locked record, with the entries of others that wait for its lock, so that none of them gets it. The record is marked
 * `deleted` for them first: if the answer is lost, the cloud is not asked again.
 */
async function removeLocked({ committer, clock, zk }: Context, node: NodeRecord, entry: string): Promise<void> {
  const transaction = new Transaction<'lock' | 'record'>();
  transaction.add('lock', { op: 'delete', path: entry }, removeLockDirectory(node));
  transaction.add('record', removeNode(node));
  try {
    await transaction.commit(committer);
  } catch (error) {
    if (!isRefusal(error) || error.kind !== 'locked') throw error;
    await committer.commit([setNode(withNode(node, { state: 'deleted' }, clock.now(), 'launcher'))]);
    await zk.deleteRecursive(nodePath(node.id));
  }
}

async function unlock({ zk, committer }: Context, entry: string, epoch: number, signal: AbortSignal): Promise<void> {
  await zk.whenConnected(signal);
  if (zk.sessionEpoch !== epoch) return;
  try {
    await committer.commit([{ op: 'delete', path: entry }]);
  } catch (error) {
    if (!isZooKeeperError(error, 'ZK_NO_NODE')) throw error;
  }
}

function removeNode(node: NodeRecord) {
  return { op: 'delete' as const, path: nodePath(node.id), version: node.stat?.version ?? -1 };
}
