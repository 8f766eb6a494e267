import { setMaxListeners } from 'node:events';
import type { NodeRecord } from '@nodepool/zk-protocol';
import { sameProviderConfig } from '../../config/compare.js';
import type { Config } from '../../contract/config.js';
import type { DriverRegistry } from '../../config/discovery/registry-types.js';
import type { AlienResource, HostStatus, LeakedResource, Provider, UnusableNode } from '../../contract/driver.js';
import type { ProviderConfig } from '../../contract/provider-config.js';
import type { Steered } from '../plan/steering.js';
import type { PoolRegistry } from '../registry/pool-registry.js';
import type { Context } from '../state/context.js';
import type { Occasion, Part } from '../state/part.js';
import type { ImageMirror } from '../state/image-mirror.js';
import type { Faults } from './guard/driver-scope.js';
import { contextFor, type CapacityUsers, type ProviderSources } from './provider-context.js';
import { GuardedProvider } from './guard/guarded-provider.js';
import { DrainingProviders, type DrainingStatus } from './draining-providers.js';
import { LeakSearches } from './leak-searches.js';
import { ProviderRunner } from './provider-runner.js';

/** A resource of a provider, with the provider's name. */
type OfProvider<T> = T & { readonly provider: string };

/**
 * The running providers. A reload keeps unchanged ones; a removed provider stays until its nodes are gone. A provider without a driver
 * is left to other launchers.
 */
export class ProviderSet implements Part, Faults, CapacityUsers {
  readonly #context: Context;
  readonly #drivers: DriverRegistry;
  readonly #sources: ProviderSources;
  readonly #runners = new Map<string, ProviderRunner>();
  /** Replaced or removed providers that are still stopping. */
  readonly #leaving = new Set<Promise<void>>();
  readonly #draining: DrainingProviders;
  readonly #leaks: LeakSearches;
  readonly #unsubscribe: () => void;
  #users: CapacityUsers | undefined;
  #restarts: Faults | undefined;
  #isClosed = false;
  #stopped: Promise<void> | undefined;
  /** Of all providers that have not stopped, including replaced ones. */
  readonly #closings = new Map<ProviderRunner, AbortController>();

  /** @param registry - shows which providers other launchers have */
  constructor(
    context: Context,
    drivers: DriverRegistry,
    images: ImageMirror,
    steering: Steered,
    registry: PoolRegistry,
  ) {
    this.#context = context;
    this.#drivers = drivers;
    this.#sources = { context, images, steering, users: this };
    this.#draining = new DrainingProviders(context, registry);
    this.#leaks = new LeakSearches(context, this.#runners);
    const ends = [
      context.events.on('nodeChanged', ({ before, after }) => {
        if (before?.provider && before.provider !== after?.provider) this.#endIfDrained(before.provider);
      }),
      // the launcher of a pool that left may have left resources behind
      context.events.on('poolChanged', ({ before, after }) => {
        if (before && !after) this.#leaks.poolLeft(before.providerName);
      }),
    ];
    this.#unsubscribe = () => ends.forEach((end) => end());
  }

  /** From now on, these pools use the providers. */
  handTo(users: CapacityUsers): void {
    this.#users = users;
  }

  /** From now on, it restarts providers whose drivers make errors. */
  restartBy(restarts: Faults): void {
    this.#restarts = restarts;
  }

  capacityChanged(provider: string, pool?: string): void {
    this.#users?.capacityChanged(provider, pool);
  }

  driverFaulted(...fault: Parameters<Faults['driverFaulted']>): void {
    this.#restarts?.driverFaulted(...fault);
  }

  /** A provider of the configuration in force. */
  get(name: string): ProviderRunner | undefined {
    return this.#runners.get(name);
  }

  /** The providers of the configuration in force. */
  get configured(): Iterable<ProviderRunner> {
    return this.#runners.values();
  }

  /** Providers that could not be started, and why. */
  startErrors(): { provider: string; error: string }[] {
    return [...this.#runners.values()].flatMap(({ name, startFailure }) =>
      startFailure === undefined ? [] : [{ provider: name, error: startFailure.message }],
    );
  }

  /** Resources without a record that providers found in their clouds. */
  leakedResources(): OfProvider<LeakedResource>[] {
    return this.#eachOf((provider) => provider.leakedResources?.());
  }

  /** Resources in providers' clouds that are not proven to belong to this database. */
  alienResources(): OfProvider<AlienResource>[] {
    return this.#eachOf((provider) => provider.alienResources?.());
  }

  /** Nodes whose machine cannot be used any more. */
  unusableNodes(): OfProvider<UnusableNode>[] {
    return this.#eachOf((provider) => provider.unusableNodes?.());
  }

  /** Machines of providers that lend existing hosts. */
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

  /** A pool uses the provider from now on, until {@link endWork}. */
  beginWork(provider: string): void {
    this.#draining.beginWork(provider);
  }

  /** A pool of the provider has ended its last request. */
  endWork(provider: string): void {
    this.#draining.endWork(provider);
    this.#endIfDrained(provider);
  }

  /** What becomes of an idle node of a removed provider; `undefined`: it stays. */
  judge(node: NodeRecord): { readonly act: string; readonly afterMs: number } | undefined {
    return this.#draining.judge(node);
  }

  /**
   * Searches for leaks; the first search tags resources that are older than the database id. Stops removed providers that have
   * drained or that another launcher has.
   */
  reconsider(occasion: Occasion): void {
    if (occasion !== 'reload') void this.cleanupLeakedResources(); // a cloud that hangs delays nothing else
    if (occasion === 'minute') for (const runner of this.#draining.sweep()) this.#retire(runner);
  }

  #endIfDrained(provider: string): void {
    const runner = this.#draining.takeDrained(provider);
    if (runner) this.#retire(runner);
  }

  /** Lets drivers know that the launcher stops: their providers get no more work. */
  close(): void {
    this.#isClosed = true;
    for (const closing of this.#closings.values()) closing.abort(new Error('the launcher stops'));
  }

  /** Applies a configuration. Resolves when each new provider has tried to start. */
  async apply(config: Config): Promise<void> {
    const replaced: ProviderRunner[] = [];
    const added: ProviderRunner[] = [];
    for (const providerConfig of config.providers.values()) {
      const current = this.#runners.get(providerConfig.name);
      if (current && sameProviderConfig(current.config, providerConfig)) {
        if (current.running) current.provider.refresh?.();
        continue;
      }
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
    replaced.push(...this.#takeUnserved(config));
    await Promise.all(added.map((runner) => runner.start()));
    for (const runner of replaced) this.#retire(runner);
  }

  /** Providers that are configured again, for another launcher: they are not drained any more. */
  #takeUnserved({ unserved = new Map() }: Config): ProviderRunner[] {
    return [...unserved.keys()].flatMap((name) => this.#draining.take(name) ?? []);
  }

  /** Replaces a provider by a new one with the same configuration. @returns the new one; `undefined` if the provider is gone */
  async restart(name: string): Promise<ProviderRunner | undefined> {
    const current = this.#runners.get(name);
    if (!current || this.#isClosed) return undefined;
    const next = await this.#create(current.config);
    current.idle();
    this.#runners.set(name, next);
    await next.start();
    this.#retire(current);
    return next;
  }

  readonly drains = 'providers';
  /** Stops all providers; resolves when they have stopped. Safe to repeat. */
  readonly stop = (): Promise<void> => (this.#stopped ??= this.#stopAll());
  readonly drain = this.stop;

  async #stopAll(): Promise<void> {
    this.#leaks.stop();
    await Promise.all([...this.#runners.values(), ...this.#draining.takeAll()].map((runner) => runner.stop()));
    await Promise.all(this.#leaving);
    this.#unsubscribe();
  }

  /** Searches for resources without a record. */
  cleanupLeakedResources(): Promise<void> {
    return this.#leaks.searchAll();
  }

  async #create(config: ProviderConfig): Promise<ProviderRunner> {
    const driver = await this.#drivers.get(config.driverName);
    const { logger } = this.#context;
    const closing = new AbortController();
    setMaxListeners(0, closing.signal); // drivers add one for each launch in progress
    const provider = new GuardedProvider({
      ...{ driver, config, faults: this },
      context: contextFor(this.#sources, config, closing.signal),
      logger: logger.child({ provider: config.name }),
    });
    const runner = new ProviderRunner(this.#context, driver, provider);
    this.#closings.set(runner, closing);
    return runner;
  }

  #retire(runner: ProviderRunner): void {
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
}
