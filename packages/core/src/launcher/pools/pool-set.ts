import type { NodeRecord, RequestId, RequestRecord } from '@nodepool/zk-protocol';
import type { Config } from '../../contract/config.js';
import type { PoolLoad } from '../../contract/pool-load.js';
import type { Steering } from '../plan/steering.js';
import type { Assignment, PoolView } from '../plan/types.js';
import type { ProviderRunner } from '../providers/provider-runner.js';
import type { CapacityUsers } from '../providers/provider-context.js';
import type { ProviderSet } from '../providers/provider-set.js';
import type { RequestWork, Waits } from '../requests/request.js';
import type { RequestTakers } from '../requests/lost-requests.js';
import type { Context } from '../state/context.js';
import type { NodeTakers } from '../state/mirror.js';
import type { Occasion, Part } from '../state/part.js';
import { poolKey } from '../state/pool-key.js';
import { LivePoolView } from '../view/pool-view.js';
import type { PoolViews } from '../view/pool-views.js';
import { Pool } from './pool.js';
import type { PoolTools } from './pool-work.js';

/** The objects that all pools of a launcher use. */
export interface PoolSetTools extends Omit<PoolTools, 'view' | 'waits'> {
  readonly providers: ProviderSet;
  readonly steering: Steering;
  /** Views of the configured pools, maintained by the set. */
  readonly views: PoolViews;
}

/**
 * The pools of a launcher. A reload keeps pools that are still configured; a removed pool finishes its work. Passes events on
 * to the pools that they concern.
 */
export class PoolSet implements Part, RequestTakers, Waits, CapacityUsers, NodeTakers {
  readonly #context: Context;
  readonly #tools: PoolSetTools;
  readonly #announceLegacy: boolean;
  readonly #pools = new Map<string, Pool>();
  /** Pools that left the configuration and are still finishing their work. */
  readonly #leaving = new Set<Pool>();
  readonly #unsubscribe: readonly (() => void)[];

  /** @param announceLegacy - also register pools below `/nodepool/launchers` */
  constructor(context: Context, tools: PoolSetTools, announceLegacy: boolean) {
    this.#context = context;
    this.#tools = tools;
    this.#announceLegacy = announceLegacy;
    tools.lost.handTo(this);
    tools.providers.handTo(this);
    context.mirror.handTo(this);
    this.#unsubscribe = [...this.#followRecords(), ...this.#followEvents()];
  }

  /** The pools of the configuration in force. */
  get configured(): readonly Pool[] {
    return [...this.#pools.values()];
  }

  /** The load of each configured pool. */
  loads(): PoolLoad[] {
    return this.configured.map(({ view, load }) => {
      const { provider, pool, launchLimit } = view;
      return { provider, pool: pool.name, ...load, ...(launchLimit < Infinity && { launchLimit }) };
    });
  }

  // --- configuration ----------------------------------------------------------------------------------------------

  /**
   * Starts to drain pools that are not in the configuration. Until {@link settleCandidates}, all pools of the configuration
   * count as candidates for requests, including those that do not exist yet.
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
      const options = { runner, pool: config, launcherId, registry, steering, ledger };
      const view = new LivePoolView<RequestWork>(this.#context, options);
      const pool = new Pool(this.#context, { ...this.#tools, view, waits: this }, this.#announceLegacy);
      this.#pools.set(key, pool);
      views.add(key, view);
      providers.beginWork(runner.name);
      starting.push(pool.start());
    }
    await Promise.all(starting);
  }

  /** The configuration has been applied, perhaps in part: pools that were not created are no candidates any more. */
  settleCandidates(): void {
    if (this.#tools.registry.keepOnly(new Set(this.#pools.keys()))) this.reconsiderAll();
  }

  /** Drains a removed pool. */
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
    const { events, mirror } = this.#context;
    return [
      events.on('requestChanged', ({ before, after }) =>
        this.#each((pool) => pool.queue.requestChanged(before, after)),
      ),
      events.on('requestLockChanged', ({ id }) => {
        const request = mirror.requests.get(id);
        if (request?.state === 'requested') this.#each((pool) => pool.queue.requestLockChanged(request));
      }),
      events.on('nodeChanged', ({ before, after }) => {
        if (before && !after) this.#ofProvider(before.provider, (pool) => pool.queue.nodeGone());
      }),
      events.on('poolChanged', (change) => this.#each((pool) => pool.poolsChanged(change))),
      events.on('ordersChanged', () => this.#each((pool) => pool.standingChanged())),
    ];
  }

  #followEvents(): (() => void)[] {
    const { events, controls } = this.#context;
    return [
      events.on('providerStarted', ({ provider }) => this.capacityChanged(provider)),
      events.on('imageChanged', ({ provider }) => provider !== undefined && this.capacityChanged(provider)),
      events.on('capacityFreed', ({ provider, pool }) => this.#wakeOthers(provider, pool)),
      events.on('tenantCapacityFreed', () => this.#each((pool) => pool.queue.planIfNeeded())),
      events.on('labelCapacityFreed', () => controls.limitsLabels && this.#each((pool) => pool.queue.planIfNeeded())),
      events.on('healthChanged', ({ provider }) => this.#ofProvider(provider, (pool) => pool.standingChanged())),
      events.on('launchEnded', ({ launch }) =>
        this.#ofProvider(launch.provider, (pool) => pool.queue.launchEnded(launch)),
      ),
      events.on('planDue', ({ pool }) => this.#each((each) => each.view === pool && each.work.run())),
      events.on('nodeUnusable', ({ id, why }) => {
        for (const pool of this.#pools.values()) pool.work.nodeUnusable(id, why);
      }),
      events.on('registrySettled', () => this.reconsiderAll()),
    ];
  }

  nodeFree(node: NodeRecord): void {
    this.#ofProvider(node.provider, (pool) => pool.queue.nodeFree(node));
  }

  waitChanged(provider: string, pool: string): void {
    this.#named(provider, pool, (each) => each.waitChanged());
  }

  capacityChanged(provider: string, pool?: string): void {
    for (const each of this.#pools.values()) {
      const { view } = each;
      if (view.provider === provider && (pool === undefined || view.pool.name === pool)) each.queue.reconsiderAll();
    }
  }

  /** Considers all requests in all pools, e.g. after the caches were read again. */
  reconsiderAll(): void {
    for (const pool of this.#pools.values()) pool.queue.reconsiderAll();
  }

  /** Locks left behind by an abandoned request have been removed: pools may take it again. */
  recovered(id: RequestId): void {
    for (const pool of this.#pools.values()) pool.queue.reconsider(id);
  }

  /** Has the pool serve a request with these nodes. */
  serve({ provider, pool }: PoolView, request: RequestRecord, assignment: Assignment): void {
    this.#pools.get(poolKey(provider, pool.name))?.work.begin(request, assignment);
  }

  /** Pools of one provider share its quota. */
  #wakeOthers(provider: string, pool: string): void {
    for (const each of this.#pools.values()) {
      if (each.view.provider === provider && each.view.pool.name !== pool) each.queue.planSoon();
    }
  }

  #ofProvider(provider: string | null, act: (pool: Pool) => void): void {
    this.#each((pool) => pool.view.provider === provider && act(pool));
  }

  /** Calls pools of the name: removed ones first, so that the reservations of the configured one remain. */
  #named(provider: string, name: string, act: (pool: Pool) => void): void {
    for (const pool of this.#leaving) {
      if (pool.view.provider === provider && pool.view.pool.name === name) act(pool);
    }
    const configured = this.#pools.get(poolKey(provider, name));
    if (configured) act(configured);
  }

  #each(act: (pool: Pool) => unknown): void {
    for (const pool of this.#pools.values()) act(pool);
    for (const pool of this.#leaving) act(pool);
  }

  /** Plans in all pools; after a connection was made, all requests are judged again. A reload does what it needs itself. */
  reconsider(occasion: Occasion): void {
    if (occasion === 'start' || occasion === 'reconnect') this.reconsiderAll();
    if (occasion !== 'minute') return;
    const served = [...this.#pools.values()].reduce((sum, pool) => sum + pool.work.sweep(), 0);
    this.#context.metrics?.sweepFound('waiting-request', served);
  }

  /** The session has ended: abandons all work, as its locks are gone. */
  sessionLost(cause: Error): void {
    this.#each((pool) => pool.sessionLost(cause));
  }

  /** Registers the pools in the new session. Rejects if that one is lost too. */
  async sessionRenewed(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.register()));
  }

  // --- end --------------------------------------------------------------------------------------------------------

  readonly drains = 'requests in progress and the registration of pools';

  /** Accepts no more requests, and finishes the work on accepted ones. */
  async drain(): Promise<void> {
    this.#tools.registry.keepOnly(new Set());
    await Promise.all([...this.#pools.values(), ...this.#leaving].map((pool) => pool.drain()));
  }

  /** Ends everything at once. */
  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    const { signal } = this.#context.life;
    this.#each((pool) => pool.abandon(signal.reason as Error));
  }
}
