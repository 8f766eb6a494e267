import type { PoolComponentRecord } from '@nodepool/zk-protocol';
import type { SteeringSet } from '../health/steering-set.js';
import { chooseProbes } from '../plan/health-rules.js';
import { keepsStandby } from '../plan/nodes.js';
import type { LivePoolView } from './pool-view.js';
import type { PoolRegistry } from '../registry/pool-registry.js';
import type { Context } from '../state/context.js';

/** Views of the pools of the configuration in force, and what they can launch together. */
export class PoolViews {
  readonly #context: Context;
  readonly #steering: SteeringSet;
  readonly #registry: PoolRegistry;
  readonly #views = new Map<string, LivePoolView>();

  constructor(context: Context, steering: SteeringSet, registry: PoolRegistry) {
    this.#context = context;
    this.#steering = steering;
    this.#registry = registry;
  }

  /** @param key - see `poolKey` */
  add(key: string, view: LivePoolView): void {
    this.#views.set(key, view);
  }

  delete(key: string): void {
    this.#views.delete(key);
  }

  get all(): readonly LivePoolView[] {
    return [...this.#views.values()];
  }

  /** Whether one of the pools could launch nodes of the label now. */
  canLaunch(label: string): boolean {
    for (const view of this.#views.values()) if (keepsStandby(view, label) && view.labelReady(label)) return true;
    return false;
  }

  /**
   * Whether this launcher has the longest registered of the pools with the label; false until its own pools are registered.
   * Launchers agree about it: who reads an entry has read those that are older, as ZooKeeper answers in order.
   */
  isFirstFor(label: string): boolean {
    let first: PoolComponentRecord | undefined;
    for (const pool of this.#registry.pools) {
      if (pool.supportedLabels.includes(label) && createdIn(pool) < createdIn(first)) first = pool;
    }
    return first !== undefined && this.#registry.isOwn(first.launcherId);
  }

  /** Labels for which a probe of the provider is due. */
  labelsToProbe(provider: string): string[] {
    const steering = this.#steering.of(provider);
    if (!steering) return [];
    const views = this.all.filter((view) => view.provider === provider);
    const due = [...this.#context.config.now.labels.values()].filter(
      ({ name, minReady }) =>
        minReady >= 0 &&
        steering.isProbeDue([name]) &&
        !steering.isProbed(name) &&
        views.some((view) => keepsStandby(view, name) && view.labelReady(name)),
    );
    return chooseProbes(due, steering);
  }
}

/** The transaction that registered a pool. */
function createdIn(pool: PoolComponentRecord | undefined): bigint | number {
  return pool?.stat?.czxid ?? Infinity;
}
