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

  /** Whether this launcher has the first of the registered pools with the label, by id. Older launchers do not register. */
  isFirstFor(label: string): boolean {
    const pools = this.#registry.pools.filter((pool) => pool.supportedLabels.includes(label));
    const [first] = pools.map(({ launcherId }) => launcherId).sort();
    return first === undefined || this.all.some(({ launcherId }) => launcherId === first);
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
