import { setMaxListeners } from 'node:events';
import type { NodeRecord } from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import { DriverError } from '../../contract/errors.js';
import { LOGGER_NAMES } from '../../contract/logger-names.js';
import { sameProviderConfig } from '../../config/compare.js';
import type { Config } from '../../contract/config.js';
import type { DriverRegistry } from '../../config/discovery/registry-types.js';
import type { AlienResource, HostStatus, LeakedResource, Provider, ProviderContext } from '../../contract/driver.js';
import type { ProviderConfig } from '../../contract/provider-config.js';
import type { LauncherEventMap } from '../events.js';
import type { SteeringSet } from '../health/steering-set.js';
import type { PoolRegistry } from '../registry/pool-registry.js';
import type { Context } from '../state/context.js';
import { withdrawNode } from '../state/expire-node.js';
import type { ImageMirror } from '../state/image-mirror.js';
import { outOfDriverScope } from './guard/driver-scope.js';
import { GuardedProvider } from './guard/guarded-provider.js';
import { DrainingProviders, type DrainingStatus } from './draining-providers.js';
import { LeakLooks } from './leak-looks.js';
import { NodesByProvider } from './nodes-by-provider.js';
import { ProviderRunner } from './provider-runner.js';
import { Restarts } from './restarts.js';

/** Something in the cloud of a provider, with the provider's name. */
type OfProvider<T> = T & { readonly provider: string };

/**
 * The running providers. A reload keeps those whose configuration is the same; one that was removed stays until its
 * nodes are gone.
 */
export class ProviderSet {
  readonly #context: Context;
  readonly #drivers: DriverRegistry;
  readonly #images: ImageMirror;
  readonly #steering: SteeringSet;
  readonly #runners = new Map<string, ProviderRunner>();
  /** Replaced or removed ones that still finish what they began. */
  readonly #leaving = new Set<Promise<void>>();
  readonly #nodes: NodesByProvider;
  readonly #draining: DrainingProviders;
  readonly #leaks: LeakLooks;
  readonly #restarts: Restarts;
  readonly #unsubscribe: readonly (() => void)[];
  #isClosed = false;
  #stopped: Promise<void> | undefined;
  /** Of all that have not ended, also of replaced ones. */
  readonly #closings = new Map<ProviderRunner, AbortController>();

  /** @param registry - tells which providers other launchers have */
  constructor(
    context: Context,
    drivers: DriverRegistry,
    images: ImageMirror,
    steering: SteeringSet,
    registry: PoolRegistry,
  ) {
    this.#context = context;
    this.#drivers = drivers;
    this.#images = images;
    this.#steering = steering;
    this.#nodes = new NodesByProvider(context.mirror);
    this.#draining = new DrainingProviders(context, this.#nodes, registry);
    this.#leaks = new LeakLooks(context, this.#runners);
    this.#restarts = new Restarts(context);
    this.#unsubscribe = [
      context.mirror.listen({
        onNode: ({ before, after }) => {
          if (before?.provider && before.provider !== after?.provider) this.#endIfDrained(before.provider);
        },
      }),
      context.events.on('driverFaulted', (event) => this.#faulted(event)),
    ];
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

  /** A pool works for the provider from now on, until {@link endWork}. */
  beginWork(provider: string): void {
    this.#draining.beginWork(provider);
  }

  /** A pool of the provider has ended its last request. */
  endWork(provider: string): void {
    this.#draining.endWork(provider);
    this.#endIfDrained(provider);
  }

  /** Removed providers whose nodes no request can get, or which another launcher looks after. */
  sweep(): void {
    for (const runner of this.#draining.sweep()) this.#letGo(runner);
  }

  #endIfDrained(provider: string): void {
    const runner = this.#draining.takeDrained(provider);
    if (runner) this.#letGo(runner);
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
      this.#endIfDrained(name);
    }
    await Promise.all(added.map((runner) => runner.start()));
    for (const runner of replaced) this.#letGo(runner);
  }

  /** Replaces a provider by a new one of the same configuration. @returns it, unless it has left the configuration */
  async restart(name: string): Promise<ProviderRunner | undefined> {
    const current = this.#runners.get(name);
    if (!current || this.#isClosed) return undefined;
    const next = await this.#create(current.config);
    current.idle();
    this.#runners.set(name, next);
    await next.start();
    this.#letGo(current);
    return next;
  }

  /** Ends all providers; resolves when everything of them has ended. Safe to repeat. */
  readonly stop = (): Promise<void> => (this.#stopped ??= this.#stopAll());

  async #stopAll(): Promise<void> {
    this.#leaks.stop();
    this.#restarts.stop();
    await Promise.all([...this.#runners.values(), ...this.#draining.takeAll()].map((runner) => runner.stop()));
    await Promise.all(this.#leaving);
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#nodes.close();
  }

  /** A pool of this provider has left the registry: looks soon for what its launcher may have left behind. */
  poolLeft(provider: string): void {
    this.#leaks.poolLeft(provider);
  }

  /** Looks for resources that no record knows. */
  cleanupLeakedResources(): Promise<void> {
    return this.#leaks.look();
  }

  async #create(config: ProviderConfig): Promise<ProviderRunner> {
    const driver = await this.#drivers.get(config.driverName);
    const { logger, events } = this.#context;
    const closing = new AbortController();
    setMaxListeners(0, closing.signal); // one for each launch a driver has under way
    const provider = new GuardedProvider({
      ...{ driver, config, events },
      context: this.#contextFor(config, closing.signal),
      logger: logger.child({ provider: config.name }),
    });
    const runner = new ProviderRunner(this.#context, { driver }, provider);
    this.#closings.set(runner, closing);
    return runner;
  }

  /** One that was replaced, or removed, ends soon; only those in force are restarted. */
  #faulted({ provider, kind, error }: LauncherEventMap['driverFaulted']): void {
    const { name, driverName } = provider.config;
    const runner = this.#runners.get(name);
    const isInForce = runner?.provider === provider && !this.#isClosed;
    if (isInForce && this.#restarts.faulted(name, driverName, kind, error)) {
      const why = `${kind} of driver "${driverName}": ${asError(error).message}`;
      runner.suspend(new DriverError(driverName, why, { cause: error }));
      return;
    }
    this.#context.logger.warn('A driver made another error that nothing catches', { provider: name, kind, error });
  }

  #letGo(runner: ProviderRunner): void {
    const leaving = runner
      .stop()
      .catch((error: unknown) =>
        this.#context.logger.warn('A replaced provider did not stop cleanly', { provider: runner.name, error }),
      )
      .finally(() => {
        this.#closings.delete(runner);
        this.#leaving.delete(leaving);
      });
    this.#leaving.add(leaving);
  }

  #contextFor({ name, driverName }: ProviderConfig, closing: AbortSignal): ProviderContext {
    const { zk, clock, committer, mirror, hostname, logger, random, metrics, events } = this.#context;
    return {
      ...{ zk, clock, committer, hostname, random, metrics, closing },
      databaseId: this.#context.life.databaseId,
      images: this.#images,
      nodes: mirror.nodes,
      requests: mirror.requests,
      logger: logger.child({ provider: name }, LOGGER_NAMES.driver(driverName)),
      config: () => this.#context.config.now,
      ownNodes: () => this.#nodes.of(name),
      capacityChanged: (pool) => outOfDriverScope(() => events.emit('capacityChanged', { provider: name, pool })),
      withdrawNode: (id, why) => outOfDriverScope(() => withdrawNode(this.#context, name, id, why)),
      avoidsZone: (zone, label) => this.#steering.of(name)?.avoidsZone(zone, label) ?? false,
      apiAnswered: (error) => outOfDriverScope(() => this.#steering.of(name)?.apiAnswered(error)),
    };
  }
}
