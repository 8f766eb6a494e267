import type { ControlRecord, NodeRecord } from '@nodepool/zk-protocol';
import { describeControl, isFree } from '@nodepool/zk-protocol';
import type { PoolConfig } from '../../contract/provider-config.js';
import type { Context } from '../state/context.js';
import { releaseNode } from '../state/expire-node.js';
import { isAboutLabel } from '../plan/controls.js';
import type { ProviderSet } from '../providers/provider-set.js';

const NO_LABELS: PoolConfig['labels'] = new Map();

/** Deletes free nodes of what an operator drains: those there are when the order comes, and those that become free later. */
export class DrainedNodes {
  readonly #context: Context;
  readonly #providers: ProviderSet;
  readonly #unsubscribe: (() => void)[];

  constructor(context: Context, providers: ProviderSet) {
    this.#context = context;
    this.#providers = providers;
    this.#unsubscribe = [
      context.mirror.listen({ onFree: (node, free) => free && this.#consider(node) }),
      context.controls.onChange(() => this.checkAll()),
    ];
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  /** Looks at every free node, e.g. once all records are known. */
  checkAll(): void {
    if (this.#orders().length === 0) return;
    const { nodes } = this.#context.mirror;
    for (const node of nodes.values()) if (isFree(node) && nodes.contenders(node.id) === 0) this.#consider(node);
  }

  #orders(): ControlRecord[] {
    return this.#context.controls.inForce.filter(({ mode }) => mode === 'drain');
  }

  #consider(node: NodeRecord): void {
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
