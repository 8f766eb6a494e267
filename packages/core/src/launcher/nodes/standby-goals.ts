import type { Context } from '../state/context.js';
import type { StandbyLevel } from '../plan/nodes.js';
import type { PoolViews } from '../view/pool-views.js';
import type { RequestedByOthers } from './requested-by-others.js';
import { StandbyLevels } from './standby-levels.js';

/** How many free nodes of a label may be deleted, and how many of those may be running. */
export interface Surplus {
  readonly nodes: number;
  readonly running: number;
}

const NO_SURPLUS: Surplus = { nodes: 0, running: 0 };

/**
 * How many free nodes of each label to keep: `min-ready`, or the computed number of a label with `standby`, which the first launcher of
 * the label keeps alone, so that launchers with different numbers do not work against each other.
 */
export class StandbyGoals {
  readonly #context: Context;
  readonly #views: PoolViews;
  readonly #others: RequestedByOthers;
  readonly #levels = new StandbyLevels();

  constructor(context: Context, views: PoolViews, others: RequestedByOthers) {
    this.#context = context;
    this.#views = views;
    this.#others = others;
  }

  /** Keeps these numbers of nodes of labels with `standby`, from now on. @returns whether a number has changed */
  replace(levels: ReadonlyMap<string, StandbyLevel>): boolean {
    return this.#levels.replace(levels);
  }

  /** The number of free nodes to keep of a label. */
  wanted(label: string): number {
    const config = this.#context.config.now.labels.get(label);
    return config && this.decides(label) ? this.#levels.of(config).nodes : 0;
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
  level(label: string): StandbyLevel | undefined {
    const config = this.#context.config.now.labels.get(label);
    if (!config) return undefined;
    const level = this.#levels.of(config);
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
    const { nodes: wanted, isFallback } = this.#levels.of(config);
    const { unaware } = this.#views.sharers(label);
    const free = mirror.standbyCount(label);
    const requested = this.#others.nodes(label);
    const nodes = Math.max(0, free - Math.max(wanted, unaware ? 0 : requested));
    if (isFallback) return { nodes: Math.min(nodes, mirror.parkedCount(label)), running: 0 };
    return { nodes, running: Math.min(nodes, Math.max(0, this.#others.count(label) - requested)) };
  }
}
