import type { Config } from '../../contract/config.js';

/** The configuration in force. The object stays the same for the life of a launcher; a reload changes what it holds. */
export class ConfigInForce {
  #now: Config;
  #disabledLabels: ReadonlySet<string>;

  constructor(config: Config) {
    this.#now = config;
    this.#disabledLabels = disabledLabelsOf(config);
  }

  get now(): Config {
    return this.#now;
  }

  /** Labels with `min-ready: -1`. */
  get disabledLabels(): ReadonlySet<string> {
    return this.#disabledLabels;
  }

  /** Puts another configuration in force. */
  use(config: Config): void {
    this.#now = config;
    this.#disabledLabels = disabledLabelsOf(config);
  }
}

function disabledLabelsOf({ labels }: Config): ReadonlySet<string> {
  return new Set([...labels.values()].filter(({ minReady }) => minReady === -1).map(({ name }) => name));
}
