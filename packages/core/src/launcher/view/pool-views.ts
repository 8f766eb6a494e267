import type { PoolComponentRecord } from '@nodepool/zk-protocol';
import type { Steered } from '../plan/steering.js';
import { chooseProbes } from '../plan/health-rules.js';
import { launchesLabel } from '../plan/nodes.js';
import { findRank, findSharers, type LabelSharers } from './label-sharers.js';
import type { LivePoolView } from './pool-view.js';
import type { PoolRegistry } from '../registry/pool-registry.js';
import type { Context } from '../state/context.js';

/** Views of the pools of the configuration in force, and what they can launch together. */
export class PoolViews {
  readonly #context: Context;
  readonly #steering: Steered;
  readonly #registry: PoolRegistry;
  readonly #views = new Map<string, LivePoolView>();
  readonly #sharers = new Map<string, LabelSharers>();
  /** The pools of which {@link #sharers} were found. */
  #sharersOf: readonly PoolComponentRecord[] | undefined;

  constructor(context: Context, steering: Steered, registry: PoolRegistry) {
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
    for (const view of this.#views.values()) if (launchesLabel(view, label) && view.labelReady(label)) return true;
    return false;
  }

  /** Whether this launcher decides about free nodes of the label; false until its own pools are registered. */
  isFirstFor(label: string): boolean {
    const { first } = this.sharers(label);
    return first !== undefined && this.#registry.isOwn(first.launcherId);
  }

  /** The number of launchers that come before this one where one of them asks for free nodes of the label; 0: it is the first. */
  rankFor(label: string): number {
    return findRank(this.#registry.pools, label, ({ launcherId }) => this.#registry.isOwn(launcherId));
  }

  /** The registered pools with the label, of all launchers. */
  sharers(label: string): LabelSharers {
    const { pools } = this.#registry;
    if (this.#sharersOf !== pools) this.#sharers.clear();
    this.#sharersOf = pools;
    let sharers = this.#sharers.get(label);
    if (!sharers) this.#sharers.set(label, (sharers = findSharers(pools, label)));
    return sharers;
  }

  /** Whether the launcher of this session has a pool registered. */
  isRegistered(session: bigint): boolean {
    return this.#registry.pools.some(({ stat }) => stat?.ephemeralOwner === session);
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
        views.some((view) => launchesLabel(view, name) && view.labelReady(name)),
    );
    return chooseProbes(due, steering);
  }
}
