import type { ControlRecord, NodeRecord } from '@nodepool/zk-protocol';
import { describeControl, isStandby } from '@nodepool/zk-protocol';
import type { PoolConfig } from '../../contract/provider-config.js';
import type { Context } from '../state/context.js';
import { releaseNode } from '../state/expire-node.js';
import { isAboutLabel } from '../plan/controls.js';
import type { ProviderSet } from '../providers/provider-set.js';

const NO_LABELS: PoolConfig['labels'] = new Map();

/**
 * Deletes the free nodes of labels, images, pools and providers that an operator drains, when the order comes into force and
 * when they become free.
 * @returns unsubscribes
 */
export function followDrainOrders(context: Context, providers: ProviderSet): () => void {
  const { events } = context;
  const ends = [
    events.on('nodeFree', ({ node }) => deleteIfDrained(context, providers, node)),
    events.on('ordersChanged', () => deleteDrainedNodes(context, providers)),
  ];
  return () => ends.forEach((end) => end());
}

/** Deletes all free nodes that are drained, e.g. once all records are known. */
export function deleteDrainedNodes(context: Context, providers: ProviderSet): void {
  if (ordersOf(context).length === 0) return;
  const { nodes } = context.mirror;
  for (const node of nodes.values()) {
    if (isStandby(node) && nodes.contenders(node.id) === 0) deleteIfDrained(context, providers, node);
  }
}

function ordersOf({ controls }: Context): ControlRecord[] {
  return controls.inForce.filter(({ mode }) => mode === 'drain');
}

function deleteIfDrained(context: Context, providers: ProviderSet, node: NodeRecord): void {
  const orders = ordersOf(context);
  if (orders.length === 0 || node.provider === null || node.pool === null || !context.life.isActive) return;
  const runner = providers.runnerOf(node);
  if (!runner?.launches) return;
  const pool = runner.config.pools.get(node.pool) ?? { name: node.pool, labels: NO_LABELS };
  const view = { provider: node.provider, pool, controls: orders };
  const order = orders.find((control) => node.labels.some((label) => isAboutLabel(control, label, view)));
  if (order) void releaseNode(context, node, `${order.kind} ${order.name} is ${describeControl(order)}`);
}
