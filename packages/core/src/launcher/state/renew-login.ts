import { withNode, type NodeId, type NodeRecord } from '@nodepool/zk-protocol';
import type { Context } from './context.js';
import { isRefusal, proveNodeUnlocked, setNode, Transaction } from './transaction.js';

/**
 * Replaces what users of a held node log in with, if it is not locked and has not changed meanwhile. Nothing else of it changes.
 * @returns false if it is not the provider's, is not held, or is locked
 */
export async function renewLogin(
  context: Context,
  provider: string,
  id: NodeId,
  connectionPort: NodeRecord['connectionPort'],
): Promise<boolean> {
  const { committer, mirror, clock, logger } = context;
  const node = mirror.nodes.get(id);
  if (node?.provider !== provider || node.state !== 'hold') return false;
  const transaction = new Transaction<'lock' | 'record'>();
  transaction.add('lock', ...proveNodeUnlocked(context, node));
  transaction.add('record', setNode(withNode(node, { connectionPort }, clock.now())));
  try {
    await transaction.commit(committer);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    logger.debug('Login of a held node is not renewed: it is locked or has changed', {
      nodeId: id,
      change: error.kind,
    });
    return false;
  }
  logger.info('Renewed the login of a held node', { nodeId: id, provider });
  return true;
}
