import {
  newPoolComponent,
  uuidHex,
  type ComponentCache,
  type LauncherId,
  type PoolComponentRecord,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import type { Config } from '../../contract/config.js';
import type { PoolConfig, ProviderConfig } from '../../contract/provider-config.js';
import type { Context } from '../state/context.js';
import { poolKey } from '../state/pool-key.js';
import { RegisteredPools } from './registered-pools.js';
import { RegistryOutlook } from './registry-outlook.js';
import { SharedPools } from './shared-pools.js';
import { shortName } from './short-name.js';

/**
 * The pools of all launchers. Those that may serve requests are the registered ones and those of this launcher's
 * configuration, which count before they are registered, or registered again in a new session. So no pool concludes from a
 * registry that its own launcher is still filling that no other pool wants a request.
 */
export class PoolRegistry {
  /** Which launcher deals with nodes of pools that several launchers have. */
  readonly shared: SharedPools;
  readonly #context: Context;
  readonly #components: ComponentCache;
  readonly #registered: RegisteredPools;
  readonly #outlook: RegistryOutlook;
  /** Pools of the configuration in force. */
  readonly #own = new Map<string, PoolComponentRecord>();
  /** Also those of before. */
  readonly #ownIds = new Set<string>();
  #known: readonly PoolComponentRecord[] | undefined;
  #candidates: readonly PoolComponentRecord[] = [];

  constructor(context: Context, components: ComponentCache) {
    this.#context = context;
    this.#components = components;
    this.#registered = new RegisteredPools(components);
    this.#outlook = new RegistryOutlook(context, components, this.#registered, this.#ownIds);
    this.shared = new SharedPools(this.#registered, this.#ownIds);
  }

  /** This launcher begins to serve. @param waiting - requests that are there already */
  begin(waiting: Iterable<RequestId>): void {
    this.#outlook.begin(waiting);
  }

  close(): void {
    this.#outlook.close();
    this.#registered.close();
  }

  /** Those that are registered; the array is replaced on change, never modified. */
  get pools(): readonly PoolComponentRecord[] {
    return this.#registered.pools;
  }

  /** A pool has an entry, of whichever kind. */
  has(launcherId: LauncherId): boolean {
    return this.#registered.has(launcherId);
  }

  /** Tells how the set of registered pools changed. @returns ends it */
  onChange(...args: Parameters<RegisteredPools['onChange']>): () => void {
    return this.#registered.onChange(...args);
  }

  /** Pools that may serve requests; the array is replaced on change, never modified. */
  get candidates(): readonly PoolComponentRecord[] {
    const registered = this.#registered.pools;
    if (this.#known === registered) return this.#candidates;
    const ids = new Set(registered.map((pool) => pool.launcherId));
    const missing = [...this.#own.values()].filter((pool) => !ids.has(pool.launcherId));
    this.#candidates = missing.length === 0 ? registered : [...registered, ...missing];
    this.#known = registered;
    return this.#candidates;
  }

  /** A pool of this launcher has this id, or had it before a reload. */
  isOwn(id: string): boolean {
    return this.#ownIds.has(id);
  }

  /** Pools of the configuration are going to be registered; others of this launcher are not any more. */
  expect(config: Config): void {
    const known = new Map(this.#own);
    this.#own.clear();
    for (const provider of config.providers.values()) {
      for (const pool of provider.pools.values()) {
        const key = poolKey(provider.name, pool.name);
        this.#own.set(key, this.#component(provider, pool, known.get(key)?.launcherId));
      }
    }
    this.#known = undefined;
  }

  /** Forgets pools of this launcher that will not be registered after all. @returns whether there were any */
  keepOnly(keys: ReadonlySet<string>): boolean {
    const before = this.#own.size;
    for (const key of this.#own.keys()) if (!keys.has(key)) this.#own.delete(key);
    this.#known = undefined;
    return this.#own.size < before;
  }

  /** Id under which a pool of the configuration is to be registered. */
  idOf(key: string): LauncherId {
    const own = this.#own.get(key);
    if (!own) throw new Error(`pool ${key} is not in the configuration`);
    return own.launcherId;
  }

  /**
   * Whether no pool is left that could serve the request: every candidate has declined it, and no other launcher may be
   * about to register one that has not. Reads the newest state of the registry before it says so.
   * @param besides - a pool that is about to decline it
   */
  async isRefusedByAll(request: RequestRecord, besides?: LauncherId): Promise<boolean> {
    if (!this.seemsRefusedByAll(request, besides)) return false;
    await this.#components.settle();
    return this.seemsRefusedByAll(request, besides);
  }

  /** The same by what is known already. */
  seemsRefusedByAll(request: RequestRecord, besides?: LauncherId): boolean {
    return (
      this.candidates.every(({ launcherId }) => launcherId === besides || request.declinedBy.includes(launcherId)) &&
      this.#outlook.isCompleteFor(request)
    );
  }

  #component(provider: ProviderConfig, pool: PoolConfig, id: LauncherId | undefined): PoolComponentRecord {
    const { hostname, version } = this.#context;
    const launcherId = id ?? (`${hostname}-PoolWorker.${provider.name}-${pool.name}-${uuidHex()}` as LauncherId);
    this.#ownIds.add(launcherId);
    return newPoolComponent({
      hostname: shortName(hostname),
      state: 'running',
      version,
      launcherId,
      name: pool.name,
      providerName: provider.name,
      supportedLabels: [...pool.labels.keys()],
      priority: pool.priority ?? provider.priority ?? 100,
      paused: false,
      firstPoolPauseMs: 0,
    });
  }
}
