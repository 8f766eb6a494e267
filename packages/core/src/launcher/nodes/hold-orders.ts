import { controlPath, isZooKeeperError, withNode } from '@nodepool/zk-protocol';
import type { ControlRecord, NodeId, NodeRecord } from '@nodepool/zk-protocol';
import type { Context } from '../state/context.js';
import { proveNodeUnlocked, setNode, Transaction } from '../state/transaction.js';

const MS_PER_SECOND = 1000;
/** An order younger than this is kept although its node is unknown: the mirror may show the node's record later. */
const CERTAIN_MS = 60_000;

const isHold = ({ kind, mode }: ControlRecord) => kind === 'node' && mode === 'hold';

/**
 * The operator's order in force to hold a node after its use. Such orders are stored outside of the node's record, which
 * belongs to the holder of its lock.
 */
export function findHoldOrder({ controls }: Context, id: NodeId): ControlRecord | undefined {
  return controls.inForce.find((control) => isHold(control) && control.name === id);
}

/** Nodes with such an order in force. */
export function nodesToHold({ controls }: Context): NodeId[] {
  return controls.inForce.filter(isHold).map(({ name }) => name as NodeId);
}

/** Holds an unlocked node until the end of its order, and removes the order in the same transaction. */
export async function holdNode(context: Context, node: NodeRecord): Promise<void> {
  const order = findHoldOrder(context, node.id);
  if (!order) return;
  const { clock, committer, logger, serverClock = clock } = context;
  const { owner, reason, endTimeMs } = order;
  const nowMs = serverClock.now();
  const holdExpirationMs = endTimeMs === null ? null : toWholeSeconds(endTimeMs - nowMs);
  const comment = reason === '' ? owner : `${owner}: ${reason}`;
  const held = withNode(node, { state: 'hold', comment, holdExpirationMs }, nowMs, 'operator');
  const transaction = new Transaction<'lock' | 'record' | 'order'>();
  transaction.add('lock', ...proveNodeUnlocked(context, node));
  transaction.add('record', setNode(held));
  transaction.add('order', { op: 'delete', path: controlPath(order), version: order.stat?.version ?? -1 });
  await transaction.commit(committer);
  logger.info('Held node after its use', { nodeId: node.id, provider: node.provider, owner, reason });
}

/** Removes the hold orders of a node that was deleted. */
export function removeHoldOrdersOf(context: Context, id: NodeId): void {
  for (const order of context.controls.stored) if (isHold(order) && order.name === id) void removeOrder(context, order);
}

/** Removes hold orders that have ended or whose node does not exist. */
export function removeStaleHoldOrders(context: Context): void {
  const { clock, controls, mirror, serverClock = clock } = context;
  const nowMs = serverClock.now();
  for (const order of controls.stored) {
    if (!isHold(order) || nowMs - order.createdTimeMs < CERTAIN_MS) continue;
    const hasEnded = order.endTimeMs !== null && order.endTimeMs <= nowMs;
    if (hasEnded || mirror.nodes.get(order.name) === undefined) void removeOrder(context, order);
  }
}

async function removeOrder({ zk, logger }: Context, order: ControlRecord): Promise<void> {
  try {
    await zk.delete(controlPath(order), order.stat?.version);
  } catch (error) {
    // another launcher may have removed it; the next sweep tries again
    if (!isZooKeeperError(error)) throw error;
    logger.debug('Order was not removed', { name: order.name, error });
  }
}

/** Records store whole seconds. */
function toWholeSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / MS_PER_SECOND)) * MS_PER_SECOND;
}
