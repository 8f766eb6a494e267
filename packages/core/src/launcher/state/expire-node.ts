import { isIdle, withNode, type NodeId, type NodeRecord } from '@nodepool/zk-protocol';
import type { Context } from './context.js';
import { isRefusal, proveNodeUnlocked, setNode, Transaction } from './transaction.js';

/**
 * Marks an unlocked node `deleting`, with the reason as its comment, if it has not changed meanwhile; the reaper deletes it.
 * @returns false if the node was locked, allocated or changed
 */
export async function expireNode(context: Context, node: NodeRecord, why: string): Promise<boolean> {
  const { committer, clock, logger } = context;
  const transaction = new Transaction<'lock' | 'record'>();
  transaction.add('lock', ...proveNodeUnlocked(context, node));
  transaction.add('record', setNode(withNode(node, { state: 'deleting', comment: why }, clock.now(), 'launcher')));
  try {
    await transaction.commit(committer);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    logger.debug('Node is in use after all', { nodeId: node.id, change: error.kind });
    return false;
  }
  logger.info('Marked node for deletion', { nodeId: node.id, provider: node.provider, reason: why });
  return true;
}

/** As {@link expireNode}; errors are logged. */
export async function tryToExpire(context: Context, node: NodeRecord, why: string): Promise<void> {
  try {
    await expireNode(context, node, why);
  } catch (error) {
    context.logger.warn('Could not delete an unused node', { nodeId: node.id, error });
  }
}

/**
 * Deletes a free or stopped node of the provider.
 * @returns false if it is not the provider's, or does not stand by
 */
export async function withdrawNode(context: Context, provider: string, id: NodeId, why: string): Promise<boolean> {
  const node = context.mirror.nodes.get(id);
  if (node?.provider !== provider || !isIdle(node)) return false;
  return expireNode(context, node, why);
}
