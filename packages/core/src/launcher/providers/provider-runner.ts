import { backoffMs, type NodeRecord, type RequestRecord, type Resources } from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import { TimeoutError } from '../../contract/errors.js';
import type { Driver, NodeRequestHandler, Provider } from '../../contract/driver.js';
import type { PoolConfig, ProviderConfig } from '../../contract/provider-config.js';
import type { Context } from '../state/context.js';
import type { Logger } from '../../contract/logger.js';

const RETRY = { firstMs: 1_000, longestMs: 60_000 };
const START_PATIENCE_MS = 30_000;

/** A configured provider while it runs: the driver's object, and the state that all its pools share. */
export class ProviderRunner {
  readonly provider: Provider;
  readonly name: string;
  readonly launches: boolean;
  readonly pausesAtQuota: boolean;
  /** The number of concurrent launches is limited by a ramp. */
  readonly rampsLaunches: boolean;
  /** Launches that another launcher began can be continued. */
  readonly resumes: boolean;
  /** Its nodes can be stopped, and started again. */
  readonly stops: boolean;
  /** Why the cloud last refused a launch for lack of quota; `undefined` once a launch is ready. */
  quotaRefusal: string | undefined;
  /** Handlers of requests that no pool has accepted yet, by pool. */
  readonly #handlers = new WeakMap<PoolConfig, WeakMap<RequestRecord, NodeRequestHandler>>();
  readonly #context: Context;
  readonly #logger: Logger;
  readonly #stop = new AbortController();
  #started: Promise<void> | undefined;
  #failure: Error | undefined;
  #running = false;

  constructor(context: Context, { capabilities }: Driver, provider: Provider) {
    this.#context = context;
    this.provider = provider;
    this.name = provider.config.name;
    this.launches = capabilities.launches;
    this.pausesAtQuota = capabilities.pausesAtQuota;
    this.rampsLaunches = this.launches && (capabilities.rampsLaunches ?? true);
    this.resumes = this.launches && (capabilities.resumes ?? false);
    this.stops = this.resumes && (capabilities.stops ?? false);
    this.#logger = context.logger.child({ provider: this.name });
  }

  get config(): ProviderConfig {
    return this.provider.config;
  }

  /** True once the driver's `start` has succeeded. */
  get running(): boolean {
    return this.#running;
  }

  /** Why the last start failed; `undefined` once one has succeeded. */
  get startFailure(): Error | undefined {
    return this.#failure;
  }

  /**
   * Starts the provider, and emits `providerStarted` once that has succeeded. Retries with growing pauses.
   * @returns once the first attempt has ended, or takes too long
   */
  start(): Promise<void> {
    this.#started ??= this.#patiently(this.#attempt(0));
    return this.#started;
  }

  /** Stops taking new work after a fault of the driver, until a restart replaces the provider. */
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

  /** The driver's handler of a request, created once. */
  handlerOf(request: RequestRecord, pool: PoolConfig): NodeRequestHandler {
    let handlers = this.#handlers.get(pool);
    if (!handlers) this.#handlers.set(pool, (handlers = new WeakMap()));
    let handler = handlers.get(request);
    if (!handler) handlers.set(request, (handler = this.provider.getRequestHandler(pool, request)));
    return handler;
  }

  /** The same, for a request that is accepted: from now on the handler belongs to the work on it. */
  takeHandler(request: RequestRecord, pool: PoolConfig): NodeRequestHandler {
    const handler = this.handlerOf(request, pool);
    this.#handlers.get(pool)?.delete(request);
    return handler;
  }

  /** Resources of one node of a label; one instance for drivers without quota. */
  needOf(label: string, pool: PoolConfig): Resources {
    return this.provider.quota?.quotaNeededByLabel(label, pool) ?? ONE_INSTANCE;
  }

  /** Resources of a node that has none stored: the need of its first label in its pool. */
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
