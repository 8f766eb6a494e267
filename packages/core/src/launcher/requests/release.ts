import type { NodeRecord } from '@nodepool/zk-protocol';
import { withNode } from '@nodepool/zk-protocol';
import type { Logger } from '../../contract/logger.js';
import type { Context } from '../state/context.js';
import { isRefusal, setNode, Transaction } from '../state/transaction.js';

/** A node and this process's entry in its lock. */
export interface HeldNode {
  readonly node: NodeRecord;
  readonly entry: string;
}

/** Changes that make a node free. It does not count for its tenant any more. */
export const UNALLOCATED = { allocatedTo: null, tenantName: null, requestor: null } as const;

/** The state of ready nodes after a release: free for other requests, or deleted to free capacity. */
export type ReleasedState = 'free' | 'deleting';

/**
 * Deallocates ready nodes or marks them for deletion, and unlocks all. A node that another process changed or removed is only
 * unlocked.
 * @param why - the comment of nodes that are deleted; default: it stays as it is
 */
export async function releaseNodes(
  context: Context,
  held: readonly HeldNode[],
  logger: Logger,
  state: ReleasedState = 'free',
  why?: string,
): Promise<void> {
  const deletion = { allocatedTo: null, state: 'deleting', ...(why !== undefined && { comment: why }) } as const;
  const changes = state === 'free' ? UNALLOCATED : deletion;
  await Promise.all(held.map((item) => releaseNode(context, item, logger, changes)));
}

async function releaseNode(
  context: Context,
  { node, entry }: HeldNode,
  logger: Logger,
  changes: Partial<NodeRecord>,
): Promise<void> {
  const current = context.mirror.nodes.get(node.id) ?? node;
  const transaction = new Transaction<'record' | 'lock'>();
  if (current.allocatedTo !== null && current.state === 'ready') {
    transaction.add('record', setNode(withNode(current, changes, context.clock.now(), 'launcher')));
  }
  transaction.add('lock', { op: 'delete', path: entry });
  try {
    await transaction.commit(context.committer);
  } catch (error) {
    if (!isRefusal<'record' | 'lock'>(error)) throw error;
    logger.warn('Node changed under its lock', { nodeId: node.id, change: error.kind });
    if (error.owner === 'record') await unlock(context, entry);
  }
}

async function unlock(context: Context, entry: string): Promise<void> {
  const transaction = new Transaction<'lock'>();
  transaction.add('lock', { op: 'delete', path: entry });
  try {
    await transaction.commit(context.committer);
  } catch (error) {
    // the entry was removed with its node
    if (!isRefusal<'lock'>(error)) throw error;
  }
}
