import { backoffMs, type NodeRecord, type Resources } from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import { TimeoutError } from '../../contract/errors.js';
import type { Driver, Provider } from '../../contract/driver.js';
import type { PoolConfig, ProviderConfig } from '../../contract/provider-config.js';
import type { Context } from '../state/context.js';
import type { Logger } from '../../contract/logger.js';

const RETRY = { firstMs: 1_000, longestMs: 60_000 };
const START_PATIENCE_MS = 30_000;

/** The driver behind a provider entry. */
export interface LoadedProvider {
  readonly driver: Driver;
}

/** One configured provider while it runs: its driver object, and what all its pools share. */
export class ProviderRunner {
  readonly provider: Provider;
  readonly launches: boolean;
  readonly pausesAtQuota: boolean;
  /** How many launches may be under way at once follows from how they go. */
  readonly rampsLaunches: boolean;
  readonly #context: Context;
  readonly #logger: Logger;
  readonly #stop = new AbortController();
  #started: Promise<void> | undefined;
  #failure: Error | undefined;
  #running = false;

  constructor(context: Context, loaded: LoadedProvider, provider: Provider) {
    this.#context = context;
    this.provider = provider;
    this.launches = loaded.driver.capabilities.launches;
    this.pausesAtQuota = loaded.driver.capabilities.pausesAtQuota;
    this.rampsLaunches = this.launches && (loaded.driver.capabilities.rampsLaunches ?? true);
    this.#logger = context.logger.child({ provider: provider.config.name });
  }

  get config(): ProviderConfig {
    return this.provider.config;
  }

  get name(): string {
    return this.provider.config.name;
  }

  /** True once the driver's `start` has succeeded. */
  get running(): boolean {
    return this.#running;
  }

  /** Why the last start failed; `undefined` once it has succeeded. */
  get startFailure(): Error | undefined {
    return this.#failure;
  }

  /**
   * Starts the provider, and tells when it has started; a failed start is repeated with growing pauses.
   * @returns when the first attempt has ended, or takes too long to be waited for
   */
  start(): Promise<void> {
    this.#started ??= this.#patiently(this.#attempt(0));
    return this.#started;
  }

  /** Takes nothing new: the driver is in disorder, and a successor will be made. */
  suspend(why: Error): void {
    this.#running = false;
    this.#failure = why;
  }

  idle(): void {
    this.provider.idle();
  }

  /** Ends the provider and resolves when everything of it has ended. */
  async stop(): Promise<void> {
    this.#running = false;
    this.provider.stop();
    await this.provider.join();
    this.#stop.abort(new Error(`provider "${this.name}" stops`));
  }

  /** Need of one node of a label; a single instance for drivers without quota. */
  needOf(label: string, pool: PoolConfig): Resources {
    return this.provider.quota?.quotaNeededByLabel(label, pool) ?? ONE_INSTANCE;
  }

  /** What a node without stored resources counts as: its first label's need in its pool. */
  needOfNode({ pool, labels: [label] }: NodeRecord): Resources {
    const config = pool === null ? undefined : this.config.pools.get(pool);
    return config && label !== undefined ? this.needOf(label, config) : ONE_INSTANCE;
  }

  /** A start that hangs continues in the background, so that the other providers can begin to work. */
  async #patiently(attempt: Promise<void>): Promise<void> {
    const { clock } = this.#context;
    let cancel = (): void => {};
    const late = new Promise<void>((resolve) => {
      cancel = clock.setTimer(START_PATIENCE_MS, () => {
        const text = `its start has not ended for ${START_PATIENCE_MS / 1_000} s; it continues in the background`;
        this.#failure = new TimeoutError(text, { timeoutMs: START_PATIENCE_MS });
        this.#logger.error('Provider does not start; continuing without it for now', { afterMs: START_PATIENCE_MS });
        resolve();
      });
    });
    await Promise.race([attempt, late]).finally(cancel);
  }

  async #attempt(attempt: number): Promise<void> {
    try {
      await this.provider.start(this.#stop.signal);
      if (this.#stop.signal.aborted) return;
      this.#running = true;
      this.#failure = undefined;
      this.#context.events.emit('providerStarted', { provider: this.name });
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#failure = asError(error);
      const pause = backoffMs(attempt, RETRY, this.#context.random);
      this.#logger.error('Provider could not be started; trying again', { error, pauseMs: Math.round(pause) });
      this.#context.clock.setTimer(pause, () => {
        if (!this.#stop.signal.aborted) void this.#attempt(attempt + 1);
      });
    }
  }
}

const ONE_INSTANCE: Resources = Object.freeze({ instances: 1 });
