import type { Config, Logger, Provider, ProviderConfig, ProviderContext } from '@nodepool/core';
import { sameProviderConfig, type DriverRegistry } from '@nodepool/core/config';

/** Creates the context of a provider. */
export type ContextOf = (config: ProviderConfig) => ProviderContext;

interface Running {
  readonly config: ProviderConfig;
  readonly provider: Provider;
  /** `undefined` before the first use and after a failure. */
  started: Promise<void> | undefined;
}

/** The providers that manage images. */
export class ImageProviders {
  readonly #running = new Map<string, Running>();
  /** Why providers could not be created, such as for a cloud that is not known; the next configuration tries again. */
  readonly #failed = new Map<string, Error>();
  readonly #ending = new Set<Promise<void>>();

  constructor(
    private readonly registry: DriverRegistry,
    private readonly contextOf: ContextOf,
    private readonly logger: Logger,
  ) {}

  /** Providers that could not be created, and why. */
  get failed(): ReadonlyMap<string, Error> {
    return this.#failed;
  }

  /** Applies a configuration: replaces changed providers, and ends removed ones after their calls have ended. */
  async reconfigure(config: Config): Promise<void> {
    for (const [name, { config: old, provider }] of this.#running) {
      const next = config.providers.get(name);
      if (next?.images !== undefined && sameProviderConfig(old, next)) continue;
      this.#running.delete(name);
      this.#end(name, provider);
    }
    this.#failed.clear();
    for (const next of config.providers.values()) {
      if (next.images === undefined || this.#running.has(next.name)) continue;
      const driver = await this.registry.get(next.driverName);
      try {
        const provider = driver.getProvider(next, this.contextOf(next));
        this.#running.set(next.name, { config: next, provider, started: undefined });
      } catch (error) {
        this.#failed.set(next.name, error instanceof Error ? error : new Error(String(error)));
        this.logger.error('Provider could not be started; continuing without it', { provider: next.name, error });
      }
    }
  }

  /**
   * Starts the provider on its first use.
   * @returns `undefined` for a provider that does not exist or manages no images
   * @throws the error of the start; the next use tries again, or the next configuration if it could not be created
   */
  async use(name: string, signal: AbortSignal): Promise<Provider | undefined> {
    const failure = this.#failed.get(name);
    if (failure) throw failure;
    const running = this.#running.get(name);
    if (!running) return undefined;
    running.started ??= (running.provider.startImages?.(signal) ?? Promise.resolve()).catch((error: unknown) => {
      running.started = undefined;
      throw error;
    });
    await running.started;
    return running.provider;
  }

  /**
   * Creates another instance of the provider for launching nodes. The caller starts, stops and joins it.
   * @returns `undefined` for a provider that does not exist or manages no images
   */
  async makeForNodes(
    name: string,
    services: Pick<ProviderContext, 'images' | 'capacityChanged'>,
  ): Promise<Provider | undefined> {
    const config = this.#running.get(name)?.config;
    if (!config) return undefined;
    const driver = await this.registry.get(config.driverName);
    return driver.getProvider(config, { ...this.contextOf(config), ...services });
  }

  /** Ends all providers, including replaced ones. Idempotent. */
  async stop(): Promise<void> {
    for (const [name, { provider }] of this.#running) this.#end(name, provider);
    this.#running.clear();
    await Promise.all(this.#ending);
  }

  #end(name: string, provider: Provider): void {
    provider.stop();
    const ended = provider
      .join()
      .catch((error: unknown) => {
        this.logger.warn('Failed to stop provider cleanly', { provider: name, error });
      })
      .finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }
}
