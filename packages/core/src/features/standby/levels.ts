import type { LabelConfig } from '../../contract/config.js';
import type { Context } from '../../launcher/state/context.js';
import type { Feature } from '../../launcher/nodes/feature.js';
import type { NodeLevel } from '../../launcher/plan/nodes.js';
import type { PoolViews } from '../../launcher/view/pool-views.js';
import type { RequestedByOthers } from './requested-by-others.js';

/** How many free nodes of a label may be deleted, and how many of those may be running. */
export interface Surplus {
  readonly nodes: number;
  readonly running: number;
}

const NO_SURPLUS: Surplus = { nodes: 0, running: 0 };

/**
 * How many free nodes of each label to keep: `min-ready`, or the number that a source says for a label with `standby`, which the first
 * launcher of the label keeps alone, so that launchers with different numbers do not work against each other.
 */
export class Levels {
  readonly #context: Context;
  readonly #views: PoolViews;
  readonly #others: RequestedByOthers;
  readonly #sources: readonly Pick<Feature, 'target'>[];

  constructor(
    context: Context,
    views: PoolViews,
    others: RequestedByOthers,
    sources: readonly Pick<Feature, 'target'>[],
  ) {
    this.#context = context;
    this.#views = views;
    this.#others = others;
    this.#sources = sources;
  }

  /** The number of free nodes to keep of a label. */
  wanted(label: string): number {
    const config = this.#context.config.now.labels.get(label);
    return config && this.decides(label) ? this.#levelOf(config).nodes : 0;
  }

  /** Whether a launcher of the original requests as many nodes of the label: it does not count what others have requested. */
  isLeftToOriginal(label: string): boolean {
    return this.#views.sharers(label).original !== undefined && this.#others.nodes(label) >= this.wanted(label);
  }

  /** Whether this launcher keeps standby nodes of the label. */
  decides(label: string): boolean {
    return !this.#context.config.now.labels.get(label)?.standby || this.#views.isFirstFor(label);
  }

  /** The number for the label, and why; `undefined`: the label is not in the configuration. */
  level(label: string): NodeLevel | undefined {
    const config = this.#context.config.now.labels.get(label);
    if (!config) return undefined;
    const level = this.#levelOf(config);
    const requested = this.#others.nodes(label);
    if (requested <= level.nodes || level.isFallback) return level;
    return {
      ...level,
      reason: `${level.reason}; ${requested} stay, as other launchers request them for their min-ready`,
    };
  }

  /** Number of parked nodes to keep at most: not known where another launcher decides. */
  mostParked(label: string): number {
    return this.decides(label) ? Math.max(this.wanted(label), this.#others.nodes(label)) : Infinity;
  }

  /**
   * The nodes above the number to keep, and above what other launchers request for their `min-ready`. Without a computed number those
   * that run stay: a request takes them.
   */
  surplus(label: string): Surplus {
    const config = this.#context.config.now.labels.get(label);
    if (!config || !this.#views.isFirstFor(label)) return NO_SURPLUS;
    const { mirror } = this.#context;
    const { nodes: wanted, isFallback } = this.#levelOf(config);
    const { unaware } = this.#views.sharers(label);
    const free = mirror.idleCount(label);
    const requested = this.#others.nodes(label);
    const nodes = Math.max(0, free - Math.max(wanted, unaware ? 0 : requested));
    if (isFallback) return { nodes: Math.min(nodes, mirror.parkedCount(label)), running: 0 };
    return { nodes, running: Math.min(nodes, Math.max(0, this.#others.count(label) - requested)) };
  }

  /** What to keep: the number that a source says, at most `at-most`, or `min-ready`. */
  #levelOf(label: LabelConfig): NodeLevel {
    const { minReady, standby } = label;
    const nodes = Math.max(0, minReady);
    if (minReady < 0 || !standby) return { nodes, reason: `min-ready ${minReady}`, isFallback: true };
    const level = this.#sources.flatMap((source) => source.target?.(label) ?? [])[0];
    if (!level) return { nodes, reason: `min-ready ${nodes}, as too little is known yet`, isFallback: true };
    return level.isFallback ? { ...level, nodes } : { ...level, nodes: Math.min(level.nodes, standby.atMost) };
  }
}
