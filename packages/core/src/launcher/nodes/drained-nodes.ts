import type { ControlRecord, NodeRecord } from '@nodepool/zk-protocol';
import { describeControl, isStandby } from '@nodepool/zk-protocol';
import type { PoolConfig } from '../../contract/provider-config.js';
import type { Context } from '../state/context.js';
import type { Part } from '../state/part.js';
import { releaseNode } from '../state/expire-node.js';
import { isAboutLabel } from '../plan/controls.js';
import type { ProviderSet } from '../providers/provider-set.js';

const NO_LABELS: PoolConfig['labels'] = new Map();

/**
 * Deletes the free nodes of labels, images, pools and providers that an operator drains, when the order comes into force and
 * when they become free.
 */
export class DrainedNodes implements Part {
  readonly #context: Context;
  readonly #providers: Pick<ProviderSet, 'runnerOf'>;
  readonly #unsubscribe: readonly (() => void)[];

  constructor(context: Context, providers: Pick<ProviderSet, 'runnerOf'>) {
    this.#context = context;
    this.#providers = providers;
    const { events } = context;
    this.#unsubscribe = [
      events.on('nodeFree', ({ node }) => this.#deleteIfDrained(node)),
      events.on('ordersChanged', () => this.reconsider()),
    ];
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  /** Deletes all free nodes that are drained, e.g. once all records are known. */
  reconsider(): void {
    if (this.#orders().length === 0) return;
    const { nodes } = this.#context.mirror;
    for (const node of nodes.values()) {
      if (isStandby(node) && nodes.contenders(node.id) === 0) this.#deleteIfDrained(node);
    }
  }

  #orders(): ControlRecord[] {
    return this.#context.controls.inForce.filter(({ mode }) => mode === 'drain');
  }

  #deleteIfDrained(node: NodeRecord): void {
    const orders = this.#orders();
    if (orders.length === 0 || node.provider === null || node.pool === null || !this.#context.life.isActive) return;
    const runner = this.#providers.runnerOf(node);
    if (!runner?.launches) return;
    const pool = runner.config.pools.get(node.pool) ?? { name: node.pool, labels: NO_LABELS };
    const view = { provider: node.provider, pool, controls: orders };
    const order = orders.find((control) => node.labels.some((label) => isAboutLabel(control, label, view)));
    if (order) void releaseNode(this.#context, node, `${order.kind} ${order.name} is ${describeControl(order)}`);
  }
}
