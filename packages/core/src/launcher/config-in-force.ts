import type { Config } from '../contract/config.js';
import type { ConfigSource } from './mirror/ports.js';

/** The configuration in force, with what is derived from it once. */
export class ConfigInForce implements ConfigSource {
  #config: Config;
  #disabledLabels: ReadonlySet<string> = new Set();

  constructor(config: Config) {
    this.#config = config;
  }

  readonly config = (): Config => this.#config;

  readonly disabledLabels = (): ReadonlySet<string> => this.#disabledLabels;

  readonly tenantLimit = (tenant: string) => this.#config.tenantLimits.get(tenant);

  /** Puts another configuration in force. */
  use(config: Config): void {
    this.#config = config;
    this.#disabledLabels = new Set(
      [...config.labels.values()].filter(({ minReady }) => minReady === -1).map(({ name }) => name),
    );
  }
}
