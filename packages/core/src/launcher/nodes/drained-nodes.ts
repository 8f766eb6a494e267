import type { ControlRecord, NodeRecord } from '@nodepool/zk-protocol';
import { describeControl, isFree } from '@nodepool/zk-protocol';
import type { PoolConfig } from '../../contract/provider-config.js';
import type { Services } from '../mirror/services.js';
import { isAboutLabel } from '../plan/controls.js';

const NO_LABELS: PoolConfig['labels'] = new Map();

/** What draining needs to know of the launcher around it. */
export interface DrainedNodesPort {
  /** This launcher makes nodes in the provider of this one. */
  launches(node: NodeRecord): boolean;
  /** The node's pool; `undefined` when it has left the configuration. */
  poolOf(node: NodeRecord): PoolConfig | undefined;
  /** Deletes a free node if it still is one. */
  releaseNode(node: NodeRecord, why: string): void;
}

/** Deletes free nodes of what an operator drains: those there are when the order comes, and those that become free later. */
export class DrainedNodes {
  readonly #services: Services;
  readonly #port: DrainedNodesPort;
  readonly #unsubscribe: (() => void)[];

  constructor(services: Services, port: DrainedNodesPort) {
    this.#services = services;
    this.#port = port;
    this.#unsubscribe = [
      services.mirror.listen({ onFree: (node, free) => free && this.#consider(node) }),
      services.controls?.onChange(() => this.checkAll()) ?? (() => undefined),
    ];
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  /** Looks at every free node, e.g. once all records are known. */
  checkAll(): void {
    if (this.#orders().length === 0) return;
    const { nodes } = this.#services.mirror;
    for (const node of nodes.values()) if (isFree(node) && nodes.contenders(node.id) === 0) this.#consider(node);
  }

  #orders(): ControlRecord[] {
    return (this.#services.controls?.inForce ?? []).filter(({ mode }) => mode === 'drain');
  }

  #consider(node: NodeRecord): void {
    const orders = this.#orders();
    if (orders.length === 0 || node.provider === null || node.pool === null || !this.#port.launches(node)) return;
    const pool = this.#port.poolOf(node) ?? { name: node.pool, labels: NO_LABELS };
    const view = { provider: node.provider, pool, controls: orders };
    const order = orders.find((control) => node.labels.some((label) => isAboutLabel(control, label, view)));
    if (order) this.#port.releaseNode(node, `${order.kind} ${order.name} is ${describeControl(order)}`);
  }
}
