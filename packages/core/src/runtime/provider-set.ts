import type { NodeRecord, RecordCache, Resources } from '@nodepool/zk-protocol';
import { sameProviderConfig } from '../config/compare.js';
import type { Config } from '../config/types.js';
import type { DriverRegistry } from '../discovery/registry-types.js';
import type { PoolConfig, Provider, ProviderConfig, ProviderContext } from '../driver/types.js';
import type { Services } from '../fulfilment/services.js';
import type { ImageSource } from '../operations/images.js';
import { GuardedProvider } from './guard/guarded-provider.js';
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
}

/** The running providers. A reload keeps those whose configuration is the same. */
export class ProviderSet {
  readonly #services: Services;
  readonly #registry: DriverRegistry;
  readonly #host: ProviderSetHost;
  readonly #runners = new Map<string, ProviderRunner>();
  /** Replaced or removed ones that still finish what they began. */
  readonly #leaving = new Set<Promise<void>>();
  readonly #nodesByProvider: NodesByProvider;

  constructor(services: Services, registry: DriverRegistry, host: ProviderSetHost) {
    this.#services = services;
    this.#registry = registry;
    this.#host = host;
    this.#nodesByProvider = new NodesByProvider(services.mirror.nodes);
  }

  get(name: string): ProviderRunner | undefined {
    return this.#runners.get(name);
  }

  all(): Iterable<ProviderRunner> {
    return this.#runners.values();
  }

  providerOf(node: NodeRecord): Provider | undefined {
    return node.provider === null ? undefined : this.#runners.get(node.provider)?.provider;
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
      this.#runners.set(providerConfig.name, next);
      added.push(next);
    }
    for (const [name, runner] of this.#runners) {
      if (config.providers.has(name)) continue;
      this.#runners.delete(name);
      runner.idle();
      replaced.push(runner);
    }
    await Promise.all(added.map((runner) => runner.start(() => this.#host.providerStarted(runner))));
    for (const runner of replaced) this.#letGo(runner);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#runners.values()].map((runner) => runner.stop()));
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
    const provider = new GuardedProvider({
      config,
      make: () => driver.getProvider(config, this.#contextFor(config)),
      clock,
      nodes: this.#services.mirror.nodes,
      logger: logger.child({ provider: config.name }),
    });
    return new ProviderRunner(this.#services, { driver }, provider);
  }

  #letGo(runner: ProviderRunner): void {
    const leaving = runner
      .stop()
      .catch((error: unknown) =>
        this.#services.logger.warn('A replaced provider did not stop cleanly', { provider: runner.name, error }),
      )
      .finally(() => this.#leaving.delete(leaving));
    this.#leaving.add(leaving);
  }

  #contextFor({ name }: ProviderConfig): ProviderContext {
    const { zk, clock, committer, mirror, hostname, logger, random, metrics } = this.#services;
    return {
      zk,
      clock,
      committer,
      hostname,
      random,
      metrics,
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

/** Node records by provider. */
class NodesByProvider {
  readonly #nodes: RecordCache<NodeRecord>;
  readonly #ids = new Map<string, Set<string>>();
  readonly #unsubscribe: () => void;

  constructor(nodes: RecordCache<NodeRecord>) {
    this.#nodes = nodes;
    this.#unsubscribe = nodes.onChange(({ id, before, after }) => {
      if (before?.provider === after?.provider) return;
      if (before?.provider) this.#ids.get(before.provider)?.delete(id);
      if (after?.provider) this.#idsOf(after.provider).add(id);
    });
  }

  *of(provider: string): Generator<NodeRecord> {
    for (const id of this.#ids.get(provider) ?? []) {
      const node = this.#nodes.get(id);
      if (node) yield node;
    }
  }

  close(): void {
    this.#unsubscribe();
  }

  #idsOf(provider: string): Set<string> {
    let ids = this.#ids.get(provider);
    if (!ids) this.#ids.set(provider, (ids = new Set()));
    return ids;
  }
}
