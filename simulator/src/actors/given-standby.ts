import type { Engine, Feature, MakeFeature, NodeLevel } from '@nodepool/core/launcher';

/** Numbers of standby nodes that a launcher is given, in place of those of schedules and demand. */
export class GivenStandby {
  #levels: ReadonlyMap<string, NodeLevel> = new Map();
  #engine: Engine | undefined;

  /** Makes the feature of a launcher that starts, without numbers. */
  readonly make: MakeFeature = (engine): Feature => {
    this.#engine = engine;
    this.#levels = new Map();
    return { target: ({ name }) => this.#levels.get(name) };
  };

  /** Keeps these numbers of nodes of labels with `standby`, from now on. */
  keep(levels: ReadonlyMap<string, NodeLevel>): void {
    this.#levels = levels;
    for (const label of levels.keys()) this.#engine?.freeNodes?.check(label);
  }
}
