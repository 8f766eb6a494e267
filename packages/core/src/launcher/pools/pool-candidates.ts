import {
  newPoolComponent,
  uuidHex,
  type LauncherId,
  type PoolComponentRecord,
  type RecordCache,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import type { Config } from '../../contract/config.js';
import type { PoolConfig, ProviderConfig } from '../../contract/provider-config.js';
import { poolKey } from '../mirror/usage.js';
import type { PoolRegistry } from './pool-registry.js';
import type { RegistryOutlook } from './registry-outlook.js';
import { shortName } from './short-name.js';

/** Where the candidates are looked up. */
export interface PoolCandidatesOptions {
  readonly components: Pick<RecordCache<unknown>, 'settle'>;
  /** Fully qualified name of this host. */
  readonly hostname: string;
  readonly version: string;
  readonly registry: Pick<PoolRegistry, 'pools'>;
  readonly outlook: Pick<RegistryOutlook, 'isCompleteFor'>;
}

/**
 * Pools that may serve requests: those that are registered, and those of this launcher's configuration, which count
 * before they are registered, or registered again in a new session. So no pool concludes from a registry that its own
 * launcher is still filling that no other pool wants a request.
 */
export class PoolCandidates {
  readonly #options: PoolCandidatesOptions;
  readonly #own = new Map<string, PoolComponentRecord>();
  readonly #ownIds = new Set<string>();
  #registered: readonly PoolComponentRecord[] | undefined;
  #pools: readonly PoolComponentRecord[] = [];

  constructor(options: PoolCandidatesOptions) {
    this.#options = options;
  }

  /** All of them; the array is replaced on change, never modified. */
  get pools(): readonly PoolComponentRecord[] {
    const registered = this.#options.registry.pools;
    if (this.#registered === registered) return this.#pools;
    const ids = new Set(registered.map((pool) => pool.launcherId));
    const missing = [...this.#own.values()].filter((pool) => !ids.has(pool.launcherId));
    this.#pools = missing.length === 0 ? registered : [...registered, ...missing];
    this.#registered = registered;
    return this.#pools;
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
    this.#registered = undefined;
  }

  /** Forgets own pools that will not be registered after all. @returns whether there were any */
  keepOnly(isKept: (key: string) => boolean): boolean {
    const before = this.#own.size;
    for (const key of this.#own.keys()) if (!isKept(key)) this.#own.delete(key);
    this.#registered = undefined;
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
    await this.#options.components.settle();
    return this.seemsRefusedByAll(request, besides);
  }

  /** The same by what is known already. */
  seemsRefusedByAll(request: RequestRecord, besides?: LauncherId): boolean {
    return (
      this.pools.every(({ launcherId }) => launcherId === besides || request.declinedBy.includes(launcherId)) &&
      this.#options.outlook.isCompleteFor(request)
    );
  }

  #component(provider: ProviderConfig, pool: PoolConfig, id: LauncherId | undefined): PoolComponentRecord {
    const { hostname, version } = this.#options;
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
