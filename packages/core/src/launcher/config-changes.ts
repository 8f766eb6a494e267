import { steadyNow } from '@nodepool/zk-protocol';
import { asError } from '../async/as-error.js';
import type { Config } from '../contract/config.js';
import { DriverError } from '../contract/errors.js';
import type { Provider } from '../contract/driver.js';
import type { FaultKind, Faults } from './providers/guard/driver-scope.js';
import type { PoolSet } from './pools/pool-set.js';
import type { ProviderSet } from './providers/provider-set.js';
import type { Context } from './state/context.js';
import type { Part } from './state/part.js';
import { Retries } from './state/retries.js';
import { reconsiderAll } from './sweeps.js';

/** Pauses before the restart of a faulty provider. */
const RESTART = { firstMs: 1_000, longestMs: 60_000 };
/** After this time without a fault, the next restart of a provider has a short pause again. */
const FORGIVEN_AFTER_MS = 600_000;

/** The parts of a launcher that depend on the configuration. */
export interface ConfiguredParts {
  readonly context: Context;
  readonly pools: PoolSet;
  readonly providers: ProviderSet;
  readonly parts: readonly Part[];
}

/**
 * Applies configurations and restarts faulty providers, one change at a time. After an error outside of any call, a driver's
 * state cannot be trusted: its provider, and no other, is restarted.
 */
export class ConfigChanges implements Part, Faults {
  readonly #parts: ConfiguredParts;
  readonly #restarts: Retries<string>;
  /** The time of each provider's last fault. */
  readonly #faultedMs = new Map<string, number>();
  #last: Promise<void> = Promise.resolve();

  constructor(parts: ConfiguredParts) {
    this.#parts = parts;
    this.#restarts = new Retries(parts.context);
    parts.providers.restartBy(this);
  }

  stop(): void {
    this.#restarts.stop();
  }

  /** Puts another configuration in force; parts whose configuration is unchanged continue undisturbed. */
  apply(config: Config): Promise<void> {
    return this.#inTurn(() => this.#apply(config));
  }

  #inTurn(change: () => Promise<void>): Promise<void> {
    const run = this.#last.then(change);
    this.#last = run.catch(() => undefined);
    return run;
  }

  async #apply(config: Config): Promise<void> {
    const { context, pools, providers, parts } = this.#parts;
    context.config.now = config;
    pools.prepare(config);
    try {
      await providers.apply(config);
      await Promise.all([...config.providers.keys()].map((name) => this.#applyPools(name)));
    } finally {
      pools.settleCandidates();
    }
    void reconsiderAll(context, parts, 'reload');
  }

  async #applyPools(name: string): Promise<void> {
    const { providers, pools, context } = this.#parts;
    const runner = providers.get(name);
    if (!runner || context.life.isDraining) return;
    await pools.apply(runner);
  }

  /** Schedules a restart. A provider that was replaced or removed is stopping anyway. */
  driverFaulted(provider: Pick<Provider, 'config'>, kind: FaultKind, error: unknown): void {
    const { providers, context } = this.#parts;
    const { life, clock, logger } = context;
    const { name, driverName: driver } = provider.config;
    const runner = providers.get(name);
    const isEnding = runner?.provider !== provider || life.isDraining || life.signal.aborted;
    if (isEnding || this.#restarts.isPausing(name)) {
      logger.warn('A driver made another error that nothing catches', { provider: name, kind, error });
      return;
    }
    const nowMs = steadyNow(clock);
    if (nowMs - (this.#faultedMs.get(name) ?? nowMs) >= FORGIVEN_AFTER_MS) this.#restarts.forget(name);
    this.#faultedMs.set(name, nowMs);
    const pauseMs = this.#restarts.schedule(name, RESTART, () => void this.#inTurn(() => this.#restart(name)));
    logger.error('A driver made an error that nothing catches; its provider is restarted', {
      ...{ provider: name, driver, kind, error, pauseMs: Math.round(pauseMs) },
      ...(error instanceof Error && { stack: error.stack }),
    });
    const why = `${kind} of driver "${driver}": ${asError(error).message}`;
    runner.suspend(new DriverError(driver, why, { cause: error }));
  }

  async #restart(name: string): Promise<void> {
    const { providers, context } = this.#parts;
    try {
      if (await providers.restart(name)) await this.#applyPools(name);
    } catch (error) {
      context.logger.error('Failed to restart a provider; a reload tries again', { provider: name, error });
    }
  }
}
