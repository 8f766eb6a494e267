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

/** What a node loses when anybody may have it: it counts for no tenant any more. */
export const UNALLOCATED = { allocatedTo: null, tenantName: null, requestor: null } as const;

/** What becomes of ready nodes that are given back: others may have them, or they are deleted to free capacity. */
export type NodeFate = 'free' | 'deleting';

/**
 * Gives nodes back: those that are ready are unallocated or marked for deletion, all are unlocked. A node that vanished
 * or was changed by another process is only unlocked.
 */
export async function releaseNodes(
  context: Context,
  held: readonly HeldNode[],
  logger: Logger,
  fate: NodeFate = 'free',
): Promise<void> {
  await Promise.all(held.map((item) => releaseNode(context, item, logger, fate)));
}

async function releaseNode(context: Context, { node, entry }: HeldNode, logger: Logger, fate: NodeFate): Promise<void> {
  const current = context.mirror.nodes.get(node.id) ?? node;
  const transaction = new Transaction<'record' | 'lock'>();
  if (current.allocatedTo !== null && current.state === 'ready') {
    const changes = fate === 'free' ? UNALLOCATED : { allocatedTo: null, state: fate };
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
    // the entry went with its node
    if (!isRefusal<'lock'>(error)) throw error;
  }
}
