import { controlPath, isZooKeeperError, withNode } from '@nodepool/zk-protocol';
import type { ControlRecord, NodeId, NodeRecord } from '@nodepool/zk-protocol';
import type { Context } from '../state/context.js';
import { removeLockDirectory, setNode, Transaction } from '../state/transaction.js';

const MS_PER_SECOND = 1000;
/** A record of a node may be seen after an order for it. */
const CERTAIN_MS = 60_000;

const isHold = ({ kind, mode }: ControlRecord) => kind === 'node' && mode === 'hold';

/** Orders of operators to hold nodes that are locked: kept outside their records, which belong to the holders of the locks. */
export class HoldOrders {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** The order for a node; `undefined` when there is none in force. */
  find(id: NodeId): ControlRecord | undefined {
    return this.#context.controls.inForce.find((control) => isHold(control) && control.name === id);
  }

  /** Nodes that have an order in force. */
  nodes(): NodeId[] {
    return this.#context.controls.inForce.filter(isHold).map(({ name }) => name as NodeId);
  }

  /** Holds an unlocked node until the end of its order, which is removed in the same transaction. */
  async apply(node: NodeRecord): Promise<void> {
    const order = this.find(node.id);
    if (!order) return;
    const { clock, committer, mirror, logger } = this.#context;
    const { owner, reason, endTimeMs } = order;
    const nowMs = clock.now();
    const holdExpirationMs = endTimeMs === null ? null : roundUp(endTimeMs - nowMs);
    const comment = reason === '' ? owner : `${owner}: ${reason}`;
    const held = withNode(node, { state: 'hold', comment, holdExpirationMs }, nowMs, 'operator');
    const transaction = new Transaction<'lock' | 'record' | 'order'>();
    if (mirror.nodes.hasLockDirectory(node.id)) transaction.add('lock', removeLockDirectory(node));
    transaction.add('record', setNode(held));
    transaction.add('order', { op: 'delete', path: controlPath(order), version: order.stat?.version ?? -1 });
    await transaction.commit(committer);
    logger.info('Held node after its use', { nodeId: node.id, provider: node.provider, owner, reason });
  }

  /** Removes orders that have ended, and those for nodes that do not exist. */
  removeStale(): void {
    const { clock, controls, mirror } = this.#context;
    const nowMs = clock.now();
    for (const order of controls.stored) {
      if (!isHold(order) || nowMs - order.createdTimeMs < CERTAIN_MS) continue;
      const hasEnded = order.endTimeMs !== null && order.endTimeMs <= nowMs;
      if (hasEnded || mirror.nodes.get(order.name) === undefined) void this.#remove(order);
    }
  }

  async #remove(order: ControlRecord): Promise<void> {
    try {
      await this.#context.zk.delete(controlPath(order), order.stat?.version);
    } catch (error) {
      // another launcher may have removed it; the next sweep tries again
      if (!isZooKeeperError(error)) throw error;
      this.#context.logger.debug('Order was not removed', { name: order.name, error });
    }
  }
}

/** Records have whole seconds. */
function roundUp(ms: number): number {
  return Math.max(1, Math.ceil(ms / MS_PER_SECOND)) * MS_PER_SECOND;
}
