import type { Config } from '../contract/config.js';
import type { MetricsAttachment } from '../metrics/types.js';
import type { Context } from './state/context.js';
import type { AgeLimits } from './nodes/age-limits.js';
import type { Reaper } from './nodes/reaper.js';
import type { PoolSet } from './pools/pool-set.js';
import type { ProviderSet } from './providers/provider-set.js';
import type { MinReady } from './nodes/standby.js';

/** The parts of a launcher that a configuration changes. */
export interface ConfiguredParts {
  readonly context: Context;
  readonly pools: PoolSet;
  readonly providers: ProviderSet;
  readonly reaper: Reaper;
  readonly ages: AgeLimits;
  readonly minReady: MinReady;
  readonly metrics: MetricsAttachment | undefined;
}

/** Puts configurations into force and providers back to work, one after the other. */
export class ConfigChanges {
  readonly #parts: ConfiguredParts;
  #last: Promise<void> = Promise.resolve();

  constructor(parts: ConfiguredParts) {
    this.#parts = parts;
    parts.context.events.on('restartDue', ({ provider }) => void this.#inTurn(() => this.#restart(provider)));
  }

  /** Puts another configuration in force without disturbing what did not change. */
  apply(config: Config): Promise<void> {
    return this.#inTurn(() => this.#apply(config));
  }

  #inTurn(change: () => Promise<void>): Promise<void> {
    const run = this.#last.then(change);
    this.#last = run.catch(() => undefined);
    return run;
  }

  async #apply(config: Config): Promise<void> {
    const { context, pools, providers, reaper, ages, minReady, metrics } = this.#parts;
    context.config.use(config);
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
    const { providers, context } = this.#parts;
    try {
      if (await providers.restart(name)) await this.#applyPools(name);
    } catch (error) {
      context.logger.error('A provider could not be restarted; a reload tries again', { provider: name, error });
    }
  }

  async #applyPools(name: string): Promise<void> {
    const { providers, pools, context } = this.#parts;
    const runner = providers.get(name);
    if (!runner || context.life.isDraining) return;
    await pools.apply(runner);
  }
}
