import { setMaxListeners } from 'node:events';
import type { NodeRecord, Resources } from '@nodepool/zk-protocol';
import { sameProviderConfig } from '../config/compare.js';
import type { Config } from '../config/types.js';
import type { DriverRegistry } from '../discovery/registry-types.js';
import type { PoolConfig, Provider, ProviderConfig, ProviderContext } from '../driver/types.js';
import type { Services } from '../fulfilment/services.js';
import type { ImageSource } from '../operations/images.js';
import { GuardedProvider } from './guard/guarded-provider.js';
import { DrainingProviders, type DrainingStatus } from './draining-providers.js';
import { NodesByProvider } from './nodes-by-provider.js';
import { ProviderRunner } from './provider-runner.js';

/** What providers are told about the launcher they run in. */
export interface ProviderSetHost {
  /** Uploads of managed images. */
  readonly images: ImageSource;
  config(): Config;
  /** Capacity appeared that no record shows. */
  capacityChanged(provider: string, pool?: string): void;
  /** A provider has started, perhaps after failing at first. */
  providerStarted(runner: ProviderRunner): void;
  /** Requests are still being worked on for the provider. */
  isWorkedFor(provider: string): boolean;
  /** Another launcher has a pool of the provider. */
  isServedElsewhere(provider: string): boolean;
  /** Deletes a free node if it still is one. */
  releaseNode(node: NodeRecord, why: string): void;
}

/**
 * The running providers. A reload keeps those whose configuration is the same; one that was removed stays until its
 * nodes are gone.
 */
export class ProviderSet {
  readonly #services: Services;
  readonly #registry: DriverRegistry;
  readonly #host: ProviderSetHost;
  readonly #runners = new Map<string, ProviderRunner>();
  /** Replaced or removed ones that still finish what they began. */
  readonly #leaving = new Set<Promise<void>>();
  readonly #nodesByProvider: NodesByProvider;
  readonly #draining: DrainingProviders;
  /** Of all that have not ended, also of replaced ones. */
  readonly #closings = new Map<ProviderRunner, AbortController>();

  constructor(services: Services, registry: DriverRegistry, host: ProviderSetHost) {
    this.#services = services;
    this.#registry = registry;
    this.#host = host;
    this.#nodesByProvider = new NodesByProvider(services.mirror.nodes, (name) => this.#draining.look(name));
    this.#draining = new DrainingProviders(services, {
      nodesOf: (name) => this.#nodesByProvider.of(name),
      isWorkedFor: (name) => host.isWorkedFor(name),
      isServedElsewhere: (name) => host.isServedElsewhere(name),
      releaseNode: (node, why) => host.releaseNode(node, why),
      ended: (runner) => this.#letGo(runner),
    });
  }

  /** A provider of the configuration in force. */
  get(name: string): ProviderRunner | undefined {
    return this.#runners.get(name);
  }

  all(): Iterable<ProviderRunner> {
    return this.#runners.values();
  }

  /** Removed providers that still have nodes. */
  get draining(): readonly DrainingStatus[] {
    return this.#draining.status();
  }

  /** The provider of a node, also while it drains. */
  runnerOf({ provider }: NodeRecord): ProviderRunner | undefined {
    return provider === null ? undefined : (this.#runners.get(provider) ?? this.#draining.get(provider));
  }

  providerOf(node: NodeRecord): Provider | undefined {
    return this.runnerOf(node)?.provider;
  }

  /** A pool of the provider has ended its last request. */
  poolEnded(provider: string): void {
    this.#draining.look(provider);
  }

  /** Removed providers whose nodes nobody fetches, or others look after. */
  sweep(): void {
    this.#draining.sweep();
  }

  /** The launcher stops: nothing more will be asked of any provider. */
  close(): void {
    const why = new Error('the launcher stops');
    for (const closing of this.#closings.values()) closing.abort(why);
  }

  /** Makes the running providers those of the configuration. Resolves when each new one has tried to start. */
  async apply(config: Config): Promise<void> {
    const replaced: ProviderRunner[] = [];
    const added: ProviderRunner[] = [];
    for (const providerConfig of config.providers.values()) {
      const current = this.#runners.get(providerConfig.name);
      if (current && sameProviderConfig(current.config, providerConfig)) continue;
      const next = await this.#create(providerConfig);
      if (current) {
        current.idle();
        replaced.push(current);
      }
      const returned = this.#draining.take(providerConfig.name);
      if (returned) replaced.push(returned);
      this.#runners.set(providerConfig.name, next);
      added.push(next);
    }
    for (const [name, runner] of this.#runners) {
      if (config.providers.has(name)) continue;
      this.#runners.delete(name);
      this.#draining.add(runner);
      this.#closeAllOf(name);
      runner.idle();
      this.#draining.look(name);
    }
    await Promise.all(added.map((runner) => runner.start(() => this.#host.providerStarted(runner))));
    for (const runner of replaced) this.#letGo(runner);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#runners.values(), ...this.#draining.takeAll()].map((runner) => runner.stop()));
    await Promise.all(this.#leaving);
    this.#nodesByProvider.close();
  }

  async cleanupLeakedResources(signal: AbortSignal): Promise<void> {
    await Promise.all(
      [...this.#runners.values()]
        .filter((runner) => runner.running)
        .map(async (runner) => {
          try {
            await runner.provider.cleanupLeakedResources(signal);
          } catch (error) {
            this.#services.logger.warn('Looking for leaked resources failed', { provider: runner.name, error });
          }
        }),
    );
  }

  async #create(config: ProviderConfig): Promise<ProviderRunner> {
    const driver = await this.#registry.get(config.driverName);
    const { clock, logger } = this.#services;
    const closing = new AbortController();
    setMaxListeners(0, closing.signal); // one for each launch a driver has under way
    const provider = new GuardedProvider({
      config,
      make: () => driver.getProvider(config, this.#contextFor(config, closing.signal)),
      clock,
      nodes: this.#services.mirror.nodes,
      logger: logger.child({ provider: config.name }),
    });
    const predecessor = this.#runners.get(config.name) ?? this.#draining.get(config.name);
    const runner = new ProviderRunner(this.#services, { driver }, provider, predecessor);
    this.#closings.set(runner, closing);
    return runner;
  }

  #closeAllOf(name: string): void {
    const why = new Error(`provider "${name}" left the configuration`);
    for (const [runner, closing] of this.#closings) if (runner.name === name) closing.abort(why);
  }

  #letGo(runner: ProviderRunner): void {
    const leaving = runner
      .stop()
      .catch((error: unknown) =>
        this.#services.logger.warn('A replaced provider did not stop cleanly', { provider: runner.name, error }),
      )
      .finally(() => {
        this.#closings.delete(runner);
        this.#leaving.delete(leaving);
      });
    this.#leaving.add(leaving);
  }

  #contextFor({ name }: ProviderConfig, closing: AbortSignal): ProviderContext {
    const { zk, clock, committer, mirror, hostname, logger, random, metrics } = this.#services;
    return {
      zk,
      clock,
      committer,
      hostname,
      random,
      metrics,
      closing,
      images: this.#host.images,
      nodes: mirror.nodes,
      requests: mirror.requests,
      logger: logger.child({ provider: name }),
      config: () => this.#host.config(),
      ownNodes: () => this.#nodesByProvider.of(name),
      capacityChanged: (pool) => this.#host.capacityChanged(name, pool),
    };
  }
}

/** What a node without stored resources counts as: its first label's need in its pool. */
export function needOfNode(runner: ProviderRunner | undefined, node: NodeRecord): Resources {
  const pool: PoolConfig | undefined = node.pool === null ? undefined : runner?.config.pools.get(node.pool);
  const label = node.labels[0];
  return runner && pool && label !== undefined ? runner.needOf(label, pool) : { instances: 1 };
}
