import { controlPath, isZooKeeperError, withNode } from '@nodepool/zk-protocol';
import type { ControlRecord, NodeId, NodeRecord } from '@nodepool/zk-protocol';
import type { Engine, Feature, MakeFeature } from '../../launcher/nodes/feature.js';
import type { Context } from '../../launcher/state/context.js';
import { proveNodeUnlocked, setNode, Transaction } from '../../launcher/state/transaction.js';

const MS_PER_SECOND = 1000;
/** An order younger than this is kept although its node is unknown: the mirror may show the node's record later. */
const CERTAIN_MS = 60_000;

const isHold = ({ kind, mode }: ControlRecord) => kind === 'node' && mode === 'hold';

/**
 * Holds nodes after their use, as operators have ordered. Such an order is stored outside of the node's record, which belongs to the
 * holder of its lock, and removed with the transaction that holds the node, when it has ended, or when the node is gone.
 */
class HoldOrders implements Feature {
  readonly #context: Context;
  readonly #unsubscribe: readonly (() => void)[];

  constructor({ context, reaper }: Engine) {
    this.#context = context;
    reaper.claimUsed((node) => {
      const order = this.#find(node.id);
      return order && (() => holdNode(context, node, order));
    });
    this.#unsubscribe = [
      context.events.on('ordersChanged', () => {
        for (const order of context.controls.inForce) if (isHold(order)) reaper.look(order.name as NodeId);
      }),
      context.events.on('nodeChanged', ({ id, after }) => {
        if (!after && context.life.isActive) this.#remove((order) => order.name === id);
      }),
    ];
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  /** Removes orders that have ended or whose node does not exist. */
  reconsider(): void {
    const { clock, mirror, life, serverClock = clock } = this.#context;
    if (!life.isActive) return;
    const nowMs = serverClock.now();
    this.#remove(({ name, createdTimeMs, endTimeMs }) => {
      if (nowMs - createdTimeMs < CERTAIN_MS) return false;
      return (endTimeMs !== null && endTimeMs <= nowMs) || mirror.nodes.get(name) === undefined;
    });
  }

  #find(id: NodeId): ControlRecord | undefined {
    return this.#context.controls.inForce.find((control) => isHold(control) && control.name === id);
  }

  #remove(isOver: (order: ControlRecord) => boolean): void {
    for (const order of this.#context.controls.stored)
      if (isHold(order) && isOver(order)) void removeOrder(this.#context, order);
  }
}

/** Holds an unlocked node until the end of its order. */
async function holdNode(context: Context, node: NodeRecord, order: ControlRecord): Promise<void> {
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

/** `nodepool hold` for nodes in use. */
export const holdOrders: MakeFeature = (engine) => new HoldOrders(engine);
