import { isFree, withNode, type NodeId, type NodeRecord } from '@nodepool/zk-protocol';
import type { Context } from './context.js';
import { isRefusal, removeLockDirectory, setNode, Transaction } from './transaction.js';

/**
 * Marks an unlocked node `deleting`, if it is still as it was seen; the reaper does the rest.
 * @returns false when the node was locked, allocated or changed meanwhile
 */
export async function expireNode(context: Context, node: NodeRecord, why: string): Promise<boolean> {
  const { committer, mirror, clock, logger } = context;
  const transaction = new Transaction<'lock' | 'record'>();
  if (mirror.nodes.hasLockDirectory(node.id)) transaction.add('lock', removeLockDirectory(node));
  transaction.add('record', setNode(withNode(node, { state: 'deleting' }, clock.now(), 'launcher')));
  try {
    await transaction.commit(committer);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    logger.debug('Node is in use after all', { nodeId: node.id, change: error.kind });
    return false;
  }
  logger.info('Node is to be deleted', { nodeId: node.id, provider: node.provider, reason: why });
  return true;
}

/** Deletes a node that is in the way, if it still is as it was seen; one that cannot be is named in the log. */
export async function releaseNode(context: Context, node: NodeRecord, why: string): Promise<void> {
  try {
    await expireNode(context, node, why);
  } catch (error) {
    context.logger.warn('Could not delete an unused node', { nodeId: node.id, error });
  }
}

/**
 * Deletes a free node of the provider, with the reason as its comment.
 * @returns false when it is not the provider's, or not free
 */
export async function withdrawNode(context: Context, provider: string, id: NodeId, why: string): Promise<boolean> {
  const node = context.mirror.nodes.get(id);
  if (node?.provider !== provider || !isFree(node)) return false;
  return expireNode(context, { ...node, comment: why }, why);
}
