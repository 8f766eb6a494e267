import type { LabelConfig } from '../../contract/config.js';
import type { StandbyLevel } from '../plan/nodes.js';

/** Computed numbers of standby nodes, for labels with `standby`. */
export class StandbyLevels {
  #levels: ReadonlyMap<string, StandbyLevel> = new Map();

  /** @returns whether a number has changed */
  replace(levels: ReadonlyMap<string, StandbyLevel>): boolean {
    const before = this.#levels;
    this.#levels = levels;
    return [...levels].some(([label, { nodes, isFallback }]) => {
      const old = before.get(label);
      return old?.nodes !== nodes || old.isFallback !== isFallback;
    });
  }

  /** What to keep: the computed number, at most `at-most`, or `min-ready`. */
  of({ name, minReady, standby }: LabelConfig): StandbyLevel {
    const nodes = Math.max(0, minReady);
    if (minReady < 0 || !standby) return { nodes, reason: `min-ready ${minReady}`, isFallback: true };
    const level = this.#levels.get(name);
    if (!level) return { nodes, reason: `min-ready ${nodes}, as there is no forecast yet`, isFallback: true };
    return level.isFallback ? { ...level, nodes } : { ...level, nodes: Math.min(level.nodes, standby.atMost) };
  }
}
