import { setMaxListeners } from 'node:events';
import type { NodeId, NodeRecord, Resources } from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import { DriverError } from '../../contract/errors.js';
import { LOGGER_NAMES } from '../../contract/logger-names.js';
import { sameProviderConfig } from '../../config/compare.js';
import type { Config } from '../../contract/config.js';
import type { DriverRegistry } from '../../config/discovery/registry-types.js';
import type { AlienResource, HostStatus, LeakedResource, Provider, ProviderContext } from '../../contract/driver.js';
import type { PoolConfig, ProviderConfig } from '../../contract/provider-config.js';
import type { ConfigSource, NodeRemoval } from '../mirror/ports.js';
import { loggingAs, type Services } from '../mirror/services.js';
import type { ImageSource } from '../../contract/images.js';
import { outOfDriverScope, type FaultKind } from './guard/driver-scope.js';
import { GuardedProvider } from './guard/guarded-provider.js';
import { DrainingProviders, type DrainingStatus } from './draining-providers.js';
import { NodesByProvider } from './nodes-by-provider.js';
import { OrphanLooks } from './orphan-looks.js';
import { ProviderRunner } from './provider-runner.js';
import { Restarts } from './restarts.js';

const LEAST_LOOK_GAP_MS = 5_000;

/** Something in the cloud of a provider, with the provider's name. */
type OfProvider<T> = T & { readonly provider: string };

/** What providers learn from the launcher they run in. */
export interface ProviderSetPort extends NodeRemoval, Pick<ConfigSource, 'config'> {
  /** Uploads of managed images. */
  readonly images: ImageSource;
  /** Random id of the database; known before providers are made. */
  databaseId(): string | undefined;
  /** Capacity appeared that no record shows. */
  capacityChanged(provider: string, pool?: string): void;
  /** A provider takes one of its free nodes back. @returns whether it could */
  withdrawNode(provider: string, id: NodeId, why: string): Promise<boolean>;
  /** A call to the cloud of a provider has ended. @param error - with which it failed */
  apiAnswered(provider: string, error: Error | undefined): void;
  /** Nodes of the label are better made in another zone of the provider. */
  avoidsZone(provider: string, zone: string, label: string): boolean;
  /** A provider has started, perhaps after failing at first. */
  providerStarted(runner: ProviderRunner): void;
  /** Requests are still being worked on for the provider. */
  isWorkedFor(provider: string): boolean;
  /** Another launcher has a pool of the provider. */
  isServedElsewhere(provider: string): boolean;
  /** A provider is to be replaced by {@link ProviderSet.restart}, and its pools to be told, in turn with reloads. */
  restart(provider: string): void;
}

/**
 * The running providers. A reload keeps those whose configuration is the same; one that was removed stays until its
 * nodes are gone.
 */
export class ProviderSet {
  readonly #services: Services;
  readonly #registry: DriverRegistry;
  readonly #port: ProviderSetPort;
  readonly #orphans: OrphanLooks;
  /** When leaks were last looked for, by provider. */
  readonly #leakLooks = new Map<string, number>();
  readonly #runners = new Map<string, ProviderRunner>();
  /** Replaced or removed ones that still finish what they began. */
  readonly #leaving = new Set<Promise<void>>();
  readonly #nodesByProvider: NodesByProvider;
  readonly #draining: DrainingProviders;
  #isClosed = false;
  #stopped: Promise<void> | undefined;
  /** Of all that have not ended, also of replaced ones. */
  readonly #restarts: Restarts;
  readonly #closings = new Map<ProviderRunner, AbortController>();

  constructor(services: Services, registry: DriverRegistry, port: ProviderSetPort) {
    this.#services = services;
    this.#orphans = new OrphanLooks(services.clock);
    this.#registry = registry;
    this.#port = port;
    this.#restarts = new Restarts({ ...services, restart: (name) => port.restart(name) });
    this.#nodesByProvider = new NodesByProvider(services.mirror.nodes, (name) => this.#draining.look(name));
    this.#draining = new DrainingProviders(services, {
      nodesOf: (name) => this.#nodesByProvider.of(name),
      isWorkedFor: (name) => port.isWorkedFor(name),
      isServedElsewhere: (name) => port.isServedElsewhere(name),
      releaseNode: (node, why) => port.releaseNode(node, why),
      ended: (runner) => this.#letGo(runner),
    });
  }

  /** A provider of the configuration in force. */
  get(name: string): ProviderRunner | undefined {
    return this.#runners.get(name);
  }

  /** Those of the configuration in force. */
  get configured(): Iterable<ProviderRunner> {
    return this.#runners.values();
  }

  /** Providers that could not be started, and why. */
  startErrors(): { provider: string; error: string }[] {
    return [...this.#runners.values()].flatMap(({ name, startFailure }) =>
      startFailure === undefined ? [] : [{ provider: name, error: startFailure.message }],
    );
  }

  /** Resources that providers found in their clouds and that no record knows. */
  leakedResources(): OfProvider<LeakedResource>[] {
    return this.#eachOf((provider) => provider.leakedResources?.());
  }

  /** Resources that providers found in their clouds and that are not proven to belong to this database. */
  alienResources(): OfProvider<AlienResource>[] {
    return this.#eachOf((provider) => provider.alienResources?.());
  }

  /** Machines that providers lend. */
  hosts(): OfProvider<HostStatus>[] {
    return this.#eachOf((provider) => provider.hosts?.());
  }

  #eachOf<T>(ask: (provider: Provider) => readonly T[] | undefined): OfProvider<T>[] {
    return [...this.#runners.values()].flatMap(({ name, provider }) =>
      (ask(provider) ?? []).map((found) => ({ ...found, provider: name })),
    );
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

  /** Removed providers whose nodes no request can get, or which another launcher looks after. */
  sweep(): void {
    this.#draining.sweep();
  }

  /** The launcher stops: nothing more will be asked of any provider. */
  close(): void {
    this.#restarts.stop();
    this.#isClosed = true;
    for (const closing of this.#closings.values()) closing.abort(new Error('the launcher stops'));
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
      const why = new Error(`provider "${name}" left the configuration`);
      for (const [other, closing] of this.#closings) if (other.name === name) closing.abort(why);
      runner.idle();
      this.#draining.look(name);
    }
    await Promise.all(added.map((runner) => runner.start(() => this.#port.providerStarted(runner))));
    for (const runner of replaced) this.#letGo(runner);
  }

  /** Replaces a provider by a new one of the same configuration. @returns it, unless it has left the configuration */
  async restart(name: string): Promise<ProviderRunner | undefined> {
    const current = this.#runners.get(name);
    if (!current || this.#isClosed) return undefined;
    const next = await this.#create(current.config);
    current.idle();
    this.#runners.set(name, next);
    await next.start(() => this.#port.providerStarted(next));
    this.#letGo(current);
    return next;
  }

  /** Ends all providers; resolves when everything of them has ended. Safe to repeat. */
  readonly stop = (): Promise<void> => (this.#stopped ??= this.#stopAll());

  async #stopAll(): Promise<void> {
    this.#orphans.stop();
    this.#restarts.stop();
    await Promise.all([...this.#runners.values(), ...this.#draining.takeAll()].map((runner) => runner.stop()));
    await Promise.all(this.#leaving);
    this.#nodesByProvider.close();
  }

  /** A pool of this provider has left the registry: looks soon for what its launcher may have left behind. */
  poolLeft(provider: string, signal: AbortSignal): void {
    this.#orphans.poolLeft(provider, () => this.cleanupLeakedResources(signal, provider));
  }

  /**
   * Looks for resources that no record knows, in one provider or in all. A provider that was looked at a moment ago is left
   * out: what is leaked is found twice, and the two looks must not see the same answer.
   */
  async cleanupLeakedResources(signal: AbortSignal, provider?: string): Promise<void> {
    const nowMs = this.#services.clock.now();
    const { logger } = loggingAs(this.#services, LOGGER_NAMES.cleanup);
    const isDue = (name: string) => nowMs - (this.#leakLooks.get(name) ?? -Infinity) >= LEAST_LOOK_GAP_MS;
    await Promise.all(
      [...this.#runners.values()]
        .filter(({ name, running }) => running && (provider ?? name) === name && isDue(name))
        .map(async (runner) => {
          this.#leakLooks.set(runner.name, nowMs);
          try {
            await runner.provider.cleanupLeakedResources(signal);
          } catch (error) {
            logger.warn('Looking for leaked resources failed', { provider: runner.name, error });
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
      onFault: (kind, error) => this.#faulted(runner, kind, error),
    });
    const before = this.#runners.get(config.name) ?? this.#draining.get(config.name);
    const runner: ProviderRunner = new ProviderRunner(this.#services, { driver }, provider, before);
    this.#closings.set(runner, closing);
    return runner;
  }

  /** One that was replaced, or removed, ends soon; only those in force are restarted. */
  #faulted(runner: ProviderRunner, kind: FaultKind, error: unknown): void {
    const { name, config } = runner;
    const isInForce = this.#runners.get(name) === runner && !this.#isClosed;
    if (isInForce && this.#restarts.faulted(name, config.driverName, kind, error)) {
      const why = `${kind} of driver "${config.driverName}": ${asError(error).message}`;
      runner.suspend(new DriverError(config.driverName, why, { cause: error }));
      return;
    }
    this.#services.logger.warn('A driver made another error that nothing catches', { provider: name, kind, error });
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

  #contextFor({ name, driverName }: ProviderConfig, closing: AbortSignal): ProviderContext {
    const { zk, clock, committer, mirror, hostname, logger, random, metrics } = this.#services;
    return {
      ...{ zk, clock, committer, hostname, random, metrics, closing },
      databaseId: this.#port.databaseId(),
      images: this.#port.images,
      nodes: mirror.nodes,
      requests: mirror.requests,
      logger: logger.child({ provider: name }, LOGGER_NAMES.driver(driverName)),
      config: () => this.#port.config(),
      ownNodes: () => this.#nodesByProvider.of(name),
      capacityChanged: (pool) => outOfDriverScope(() => this.#port.capacityChanged(name, pool)),
      withdrawNode: (id, why) => outOfDriverScope(() => this.#port.withdrawNode(name, id, why)),
      avoidsZone: (zone, label) => this.#port.avoidsZone(name, zone, label),
      apiAnswered: (error) => this.#port.apiAnswered(name, error),
    };
  }
}

/** What a node without stored resources counts as: its first label's need in its pool. */
export function needOfNode(runner: ProviderRunner | undefined, node: NodeRecord): Resources {
  const pool: PoolConfig | undefined = node.pool === null ? undefined : runner?.config.pools.get(node.pool);
  const label = node.labels[0];
  return runner && pool && label !== undefined ? runner.needOf(label, pool) : { instances: 1 };
}
