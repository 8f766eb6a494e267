import { describeControl, isIdle } from '@nodepool/zk-protocol';
import type { PoolConfig } from '../../contract/provider-config.js';
import type { MakeFeature } from '../../launcher/nodes/feature.js';
import { isAboutLabel } from '../../launcher/plan/controls.js';

const NO_LABELS: PoolConfig['labels'] = new Map();

/** Deletes the free nodes of labels, images, pools and providers that an operator drains. */
export const drains: MakeFeature = ({ context, providers, idle }) => {
  idle.add((node) => {
    const orders = context.controls.inForce.filter(({ mode }) => mode === 'drain');
    if (orders.length === 0 || !isIdle(node) || node.provider === null || node.pool === null) return undefined;
    const runner = providers.runnerOf(node);
    if (!runner?.launches) return undefined;
    const pool = runner.config.pools.get(node.pool) ?? { name: node.pool, labels: NO_LABELS };
    const view = { provider: node.provider, pool, controls: orders };
    const order = orders.find((control) => node.labels.some((label) => isAboutLabel(control, label, view)));
    return order && { act: `${order.kind} ${order.name} is ${describeControl(order)}` };
  });
  return {};
};
