import type { Config } from '../contract/config.js';
import type { Logger } from '../contract/logger.js';
import type { MetricsAttachment } from '../metrics/types.js';
import type { ConfigInForce } from './config-in-force.js';
import type { LifeCycle } from './life-cycle.js';
import type { AgeLimits } from './nodes/age-limits.js';
import type { Reaper } from './nodes/reaper.js';
import type { PoolSet } from './pools/pool-set.js';
import type { ProviderSet } from './providers/provider-set.js';
import type { MinReady } from './standby/min-ready.js';

/** The parts of a launcher that a configuration changes. */
export interface ConfiguredParts {
  readonly inForce: ConfigInForce;
  readonly life: LifeCycle;
  readonly pools: PoolSet;
  readonly providers: ProviderSet;
  readonly reaper: Pick<Reaper, 'sweep'>;
  readonly ages: Pick<AgeLimits, 'reload'>;
  readonly minReady: Pick<MinReady, 'checkAll'>;
  readonly metrics: MetricsAttachment | undefined;
  readonly logger: Logger;
}

/** Puts configurations into force and providers back to work, one after the other. */
export class ConfigChanges {
  readonly #parts: () => ConfiguredParts;
  #last: Promise<void> = Promise.resolve();

  /** @param parts - looked at when something changes */
  constructor(parts: () => ConfiguredParts) {
    this.#parts = parts;
  }

  /** Puts another configuration in force without disturbing what did not change. */
  apply(config: Config): Promise<void> {
    return this.#inTurn(() => this.#apply(config));
  }

  /** Replaces a provider by a new one of the same configuration. */
  restartProvider(name: string): Promise<void> {
    return this.#inTurn(() => this.#restart(name));
  }

  #inTurn(change: () => Promise<void>): Promise<void> {
    const run = this.#last.then(change);
    this.#last = run.catch(() => undefined);
    return run;
  }

  async #apply(config: Config): Promise<void> {
    const { inForce, pools, providers, reaper, ages, minReady, metrics } = this.#parts();
    inForce.use(config);
    pools.prepare(config);
    try {
      await providers.apply(config);
      await Promise.all([...config.providers.keys()].map((name) => this.#applyPools(name)));
    } finally {
      pools.settleCandidates();
    }
    reaper.sweep();
    ages.reload();
    minReady.checkAll();
    metrics?.configChanged();
  }

  async #restart(name: string): Promise<void> {
    const { providers, logger } = this.#parts();
    try {
      if (await providers.restart(name)) await this.#applyPools(name);
    } catch (error) {
      logger.error('A provider could not be restarted; a reload tries again', { provider: name, error });
    }
  }

  async #applyPools(name: string): Promise<void> {
    const { providers, pools, life } = this.#parts();
    const runner = providers.get(name);
    if (!runner || life.isDraining) return;
    await pools.apply(runner);
  }
}
