import type { NodeRecord, RequestId } from '@nodepool/zk-protocol';
import type { Config } from '../../contract/config.js';
import type { PoolLoad } from '../../contract/pool-load.js';
import type { SteeringSet } from '../health/steering-set.js';
import type { ProviderRunner } from '../providers/provider-runner.js';
import type { ProviderSet } from '../providers/provider-set.js';
import type { Context } from '../state/context.js';
import { poolKey } from '../state/pool-key.js';
import { LivePoolView } from '../view/pool-view.js';
import type { PoolViews } from '../view/pool-views.js';
import { Pool } from './pool.js';
import type { PoolTools } from './pool-work.js';

/** What all pools of a launcher use. */
export interface PoolSetTools extends Omit<PoolTools, 'view'> {
  readonly providers: ProviderSet;
  readonly steering: SteeringSet;
  /** Of the configured pools; filled here. */
  readonly views: PoolViews;
}

/**
 * The pools of a launcher. A reload keeps those that are still configured; one that was removed ends what it had begun.
 * What happens around pools finds the pools that it concerns here.
 */
export class PoolSet {
  readonly #context: Context;
  readonly #tools: PoolSetTools;
  readonly #announceLegacy: boolean;
  readonly #pools = new Map<string, Pool>();
  /** Pools that left the configuration and still work on what they had accepted. */
  readonly #leaving = new Set<Pool>();
  readonly #unsubscribe: readonly (() => void)[];

  /** @param announceLegacy - pools also register below `/nodepool/launchers` */
  constructor(context: Context, tools: PoolSetTools, announceLegacy: boolean) {
    this.#context = context;
    this.#tools = tools;
    this.#announceLegacy = announceLegacy;
    this.#unsubscribe = [...this.#followRecords(), ...this.#followEvents()];
  }

  /** Those of the configuration in force. */
  get configured(): readonly Pool[] {
    return [...this.#pools.values()];
  }

  /** Load of each of them. */
  loads(): PoolLoad[] {
    return this.configured.map(({ view, load }) => {
      const { provider, pool, launchLimit } = view;
      return { provider, pool: pool.name, ...load, ...(launchLimit < Infinity && { launchLimit }) };
    });
  }

  // --- configuration ----------------------------------------------------------------------------------------------

  /**
   * Lets the pools go that are not in the configuration. From now on the others count as candidates for requests, also
   * those that are yet to be made, until {@link settleCandidates}.
   */
  prepare(config: Config): void {
    this.#tools.registry.expect(config);
    const wanted = new Set<string>();
    for (const { name, pools } of config.providers.values()) {
      for (const pool of pools.keys()) wanted.add(poolKey(name, pool));
    }
    for (const [key, pool] of this.#pools) {
      if (wanted.has(key)) continue;
      this.#pools.delete(key);
      this.#tools.views.delete(key);
      this.#leave(pool);
    }
  }

  /** Resolves when the pools of the provider run with its configuration. */
  async apply(runner: ProviderRunner): Promise<void> {
    const { registry, steering, ledger, views, providers } = this.#tools;
    const starting: Promise<void>[] = [];
    for (const config of runner.config.pools.values()) {
      const key = poolKey(runner.name, config.name);
      const current = this.#pools.get(key);
      if (current) {
        current.update(runner, config);
        continue;
      }
      const launcherId = registry.idOf(key);
      const view = new LivePoolView(this.#context, { runner, pool: config, launcherId, registry, steering, ledger });
      const pool = new Pool(this.#context, { ...this.#tools, view }, this.#announceLegacy);
      this.#pools.set(key, pool);
      views.add(key, view);
      providers.beginWork(runner.name);
      starting.push(pool.start());
    }
    await Promise.all(starting);
  }

  /** The configuration is in force, or could not be: pools that were not made will never serve anything. */
  settleCandidates(): void {
    if (this.#tools.registry.keepOnly(new Set(this.#pools.keys()))) this.reconsiderAll();
  }

  /** The pool ends what it has begun. */
  #leave(leaving: Pool): void {
    this.#leaving.add(leaving);
    const { provider, pool } = leaving.view;
    leaving
      .drain()
      .catch((error: unknown) =>
        this.#context.logger.warn('A removed pool did not end cleanly', { provider, pool: pool.name, error }),
      )
      .finally(() => {
        this.#leaving.delete(leaving);
        this.#tools.providers.endWork(provider);
      });
  }

  // --- events -----------------------------------------------------------------------------------------------------

  #followRecords(): (() => void)[] {
    const { mirror, controls } = this.#context;
    const { requests } = mirror;
    return [
      mirror.listen({
        onRequest: ({ before, after }) => this.#each((pool) => pool.requestChanged(before, after)),
        onRequestLock: (id) => {
          const request = requests.get(id);
          if (request?.state === 'requested') this.#each((pool) => pool.requestLockChanged(request));
        },
        onFree: (node, isFree) => isFree && this.#ofProvider(node.provider, (pool) => pool.nodeFree(node)),
        onNode: ({ before, after }) => this.#nodeChanged(before, after),
      }),
      this.#tools.registry.onChange((change) => this.#each((pool) => pool.poolsChanged(change))),
      controls.onChange(() => this.#each((pool) => pool.standingChanged())),
    ];
  }

  #nodeChanged(before: NodeRecord | undefined, after: NodeRecord | undefined): void {
    if (before && !after) this.#ofProvider(before.provider, (pool) => pool.nodeGone());
  }

  #followEvents(): (() => void)[] {
    const { events, controls } = this.#context;
    return [
      events.on('capacityChanged', ({ provider, pool }) => this.#capacityChanged(provider, pool)),
      events.on('providerStarted', ({ provider }) => this.#capacityChanged(provider)),
      events.on('uploadsChanged', ({ provider }) => this.#capacityChanged(provider)),
      events.on('capacityFreed', ({ provider, pool }) => this.#wakeOthers(provider, pool)),
      events.on('tenantCapacityFreed', () => this.#each((pool) => pool.wakeIfNeeded())),
      events.on('labelCapacityFreed', () => controls.limitsLabels && this.#each((pool) => pool.wakeIfNeeded())),
      events.on('healthChanged', ({ provider }) => this.#ofProvider(provider, (pool) => pool.standingChanged())),
      events.on('launchEnded', ({ launch }) => this.#ofProvider(launch.provider, (pool) => pool.launchEnded(launch))),
      events.on('waitChanged', ({ provider, pool }) => this.#named(provider, pool, (each) => each.waitChanged())),
      events.on('requestRecovered', ({ request }) => this.#lookAgain(request)),
      events.on('registrySettled', () => this.reconsiderAll()),
    ];
  }

  /** @param pool - missing: in all pools of the provider */
  #capacityChanged(provider: string, pool?: string): void {
    for (const each of this.#pools.values()) {
      const { view } = each;
      if (view.provider === provider && (pool === undefined || view.pool.name === pool)) each.reconsiderAll();
    }
  }

  /** Everything may be different, as after a gap in what the caches saw. */
  reconsiderAll(): void {
    for (const pool of this.#pools.values()) pool.reconsiderAll();
  }

  #lookAgain(id: RequestId): void {
    for (const pool of this.#pools.values()) pool.lookAgain(id);
  }

  /** Pools of one provider share its quota. */
  #wakeOthers(provider: string, pool: string): void {
    for (const each of this.#pools.values()) {
      if (each.view.provider === provider && each.view.pool.name !== pool) each.wake();
    }
  }

  #ofProvider(provider: string | null, tell: (pool: Pool) => void): void {
    this.#each((pool) => pool.view.provider === provider && tell(pool));
  }

  /** Also one of that name that is leaving; before the configured one, whose reservations are to remain. */
  #named(provider: string, name: string, tell: (pool: Pool) => void): void {
    for (const pool of this.#leaving) {
      if (pool.view.provider === provider && pool.view.pool.name === name) tell(pool);
    }
    const configured = this.#pools.get(poolKey(provider, name));
    if (configured) tell(configured);
  }

  #each(tell: (pool: Pool) => unknown): void {
    for (const pool of this.#all()) tell(pool);
  }

  /** A periodic sweep, in case a watch event was missed. @returns how many requests were found waiting without a reason */
  sweep(): number {
    return [...this.#pools.values()].reduce((sum, pool) => sum + pool.sweep(), 0);
  }

  /** All work is void: its locks are gone. */
  sessionLost(cause: Error): void {
    this.#each((pool) => pool.sessionLost(cause));
  }

  /** Registers the pools in the new session. Rejects when that one is lost too. */
  async sessionRenewed(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.register()));
  }

  // --- end --------------------------------------------------------------------------------------------------------

  /** Accepts nothing more. Resolves when all that was accepted has come to its end. */
  async drain(): Promise<void> {
    this.#tools.registry.keepOnly(new Set());
    await Promise.all([...this.#all()].map((pool) => pool.drain()));
  }

  /** Ends everything at once. */
  abandon(reason: Error): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#each((pool) => pool.abandon(reason));
  }

  *#all(): Generator<Pool> {
    yield* this.#pools.values();
    yield* this.#leaving;
  }
}
