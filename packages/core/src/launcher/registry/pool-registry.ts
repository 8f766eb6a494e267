import {
  newPoolComponent,
  uuidHex,
  type CancelTimer,
  type ComponentCache,
  type ComponentRecord,
  type JsonObject,
  type LauncherId,
  type PoolComponentRecord,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import type { Config } from '../../contract/config.js';
import type { PoolConfig, ProviderConfig } from '../../contract/provider-config.js';
import type { PoolChange } from '../state/events.js';
import { coversAll } from '../plan/candidates.js';
import type { Context } from '../state/context.js';
import { poolKey } from '../state/pool-key.js';
import { RegisteredPools } from './registered-pools.js';
import { shortName } from './registration.js';

/** How long after its own start a launcher waits for others to register, if there is a sign of others. */
const SETTLING_MS = 10_000;
/** A registered launcher that is not running after this time is not waited for any longer. */
const LONGEST_START_MS = 60_000;
/** A pool that left may be back within this time: its launcher restarts, or gets a new session. */
const RETURN_MS = 30_000;

/**
 * The pools of all launchers. Candidates for requests are the registered pools and those of this launcher's configuration,
 * which count before they are registered, or registered again in a new session. So no pool concludes from a registry that
 * its own launcher is still filling that no other pool wants a request.
 *
 * Pools of other launchers may be missing because their launcher is starting, restarting or getting a new session. A
 * requestor takes `failed` for final, so no request fails while one of them could serve it.
 */
export class PoolRegistry {
  readonly registered: RegisteredPools;
  readonly #context: Context;
  readonly #components: ComponentCache;
  /** Pools of the configuration in force. */
  readonly #own = new Map<string, PoolComponentRecord>();
  /** Ids of this launcher's pools, including those of earlier configurations. */
  readonly #ownIds = new Set<string>();
  #known: readonly PoolComponentRecord[] | undefined;
  #candidates: readonly PoolComponentRecord[] = [];
  /** Registered launchers that have not been running yet. */
  readonly #starting = new Map<string, CancelTimer>();
  /** Launchers that are running, or took too long to start. */
  readonly #started = new Set<string>();
  readonly #left = new Map<LauncherId, { readonly pool: PoolComponentRecord; readonly cancel: CancelTimer }>();
  readonly #unsubscribe: (() => void)[];
  readonly #announced: ((labels: readonly string[], provider: string) => JsonObject)[] = [];
  #hasBegun = false;
  /** Set for a while after the start, while other launchers may still register. */
  #settling: CancelTimer | undefined;
  /** Requests older than this launcher: they may be meant for others that are starting as well. */
  #olderRequests: ReadonlySet<RequestId> = new Set();

  constructor(context: Context, components: ComponentCache) {
    this.#context = context;
    this.#components = components;
    this.registered = new RegisteredPools(components, context.events, this.#ownIds);
    this.#unsubscribe = [
      components.onChange(({ id, after }) => this.#componentChanged(id, after)),
      context.events.on('poolChanged', (change) => this.#poolChanged(change)),
      // after a lost connection this cache may be the last one to be whole again
      components.onReady((ready) => ready && this.#hasBegun && context.events.emit('registrySettled', {})),
    ];
  }

  /** Adds what the entry of each pool of this launcher has beside its own fields, by the labels of the pool. */
  announce(keys: (labels: readonly string[], provider: string) => JsonObject): void {
    this.#announced.push(keys);
  }

  /** What {@link announce} has added for a pool of this provider with these labels. */
  announced(labels: readonly string[], provider: string): JsonObject {
    return Object.assign({}, ...this.#announced.map((keys) => keys(labels, provider))) as JsonObject;
  }

  /**
   * This launcher begins to serve; others that were started at the same time get a moment to register.
   * @param waiting - requests that exist already
   * @param self - id of this launcher's entry, which may not say yet that it is running
   */
  begin(waiting: Iterable<RequestId>, self?: string): void {
    const { clock, events } = this.#context;
    this.#hasBegun = true;
    if (self !== undefined) this.#endWaitFor(self);
    this.#olderRequests = new Set(waiting);
    this.#settling = clock.setTimer(SETTLING_MS, () => {
      this.#settling = undefined;
      this.#olderRequests = new Set();
      events.emit('registrySettled', {});
    });
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.registered.close();
    this.#settling?.();
    for (const cancel of this.#starting.values()) cancel();
    for (const { cancel } of this.#left.values()) cancel();
  }

  /** The registered pools; the array is replaced on change, never modified. */
  get pools(): readonly PoolComponentRecord[] {
    return this.registered.pools;
  }

  /** Pools that may serve requests; the array is replaced on change, never modified. */
  get candidates(): readonly PoolComponentRecord[] {
    const { pools } = this.registered;
    if (this.#known === pools) return this.#candidates;
    const ids = new Set(pools.map((pool) => pool.launcherId));
    const missing = [...this.#own.values()].filter((pool) => !ids.has(pool.launcherId));
    this.#candidates = missing.length === 0 ? pools : [...pools, ...missing];
    this.#known = pools;
    return this.#candidates;
  }

  /** Whether a pool of this launcher has this id, or had it before a reload. */
  isOwn(id: string): boolean {
    return this.#ownIds.has(id);
  }

  // --- pools of this launcher -------------------------------------------------------------------------------------

  /** Makes the pools of a configuration candidates, in place of those of the previous one. */
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

  /** The id under which to register a pool of the configuration. */
  idOf(key: string): LauncherId {
    const own = this.#own.get(key);
    if (!own) throw new Error(`pool ${key} is not in the configuration`);
    return own.launcherId;
  }

  #component(provider: ProviderConfig, pool: PoolConfig, id: LauncherId | undefined): PoolComponentRecord {
    const { hostname, version } = this.#context;
    const launcherId = id ?? (`${hostname}-PoolWorker.${provider.name}-${pool.name}-${uuidHex()}` as LauncherId);
    this.#ownIds.add(launcherId);
    return newPoolComponent({
      ...{ hostname: shortName(hostname), state: 'running', version, launcherId },
      ...{ name: pool.name, providerName: provider.name, supportedLabels: [...pool.labels.keys()] },
      ...{ priority: pool.priority ?? provider.priority ?? 100, paused: false, firstPoolPauseMs: 0 },
    });
  }

  // --- whether a request is refused -------------------------------------------------------------------------------

  /**
   * Whether no pool could serve the request any more: every candidate has declined it, and no other launcher may be about to
   * register one that has not. Reads the newest state of the registry before it says so.
   * @param besides - a pool that is about to decline it
   */
  async isRefusedByAll(request: RequestRecord, besides?: LauncherId): Promise<boolean> {
    if (!this.seemsRefusedByAll(request, besides)) return false;
    await this.#components.settle();
    return this.seemsRefusedByAll(request, besides);
  }

  /** As {@link isRefusedByAll}, without reading. */
  seemsRefusedByAll(request: RequestRecord, besides?: LauncherId): boolean {
    return (
      this.candidates.every(({ launcherId }) => launcherId === besides || request.declinedBy.includes(launcherId)) &&
      this.isCompleteFor(request)
    );
  }

  /** Whether no candidate offers the label, and no other launcher may be about to register a pool that does. */
  isUnknownLabel(label: string): boolean {
    const request = { id: '' as RequestId, labels: [label], declinedBy: [] };
    return !this.candidates.some((pool) => coversAll(pool, request)) && this.isCompleteFor(request);
  }

  /** Whether every pool of another launcher that could serve the request is registered, as far as can be known. */
  isCompleteFor(request: Pick<RequestRecord, 'id' | 'labels' | 'declinedBy'>): boolean {
    if (!this.#hasBegun || !this.#components.ready || this.#starting.size > 0) return false;
    if (this.#settling && (this.#olderRequests.has(request.id) || this.#hasOthers(request))) return false;
    for (const [id, { pool }] of this.#left) {
      if (!request.declinedBy.includes(id) && coversAll(pool, request)) return false;
    }
    return true;
  }

  /** Whether there are or were other launchers: each is a sign of more that have yet to register. */
  #hasOthers({ declinedBy }: Pick<RequestRecord, 'declinedBy'>): boolean {
    const { mirror, config } = this.#context;
    if (this.#left.size > 0 || this.pools.some(({ launcherId }) => !this.isOwn(launcherId))) return true;
    if (declinedBy.some((id) => !this.isOwn(id))) return true;
    const { providers, unserved } = config.now;
    if (unserved?.size) return true;
    for (const { provider } of mirror.nodes.values()) if (provider !== null && !providers.has(provider)) return true;
    return false;
  }

  #componentChanged(id: string, component: ComponentRecord | undefined): void {
    if (component && component.kind !== 'launcher') return;
    if (!component || component.state === 'running') {
      this.#endWaitFor(id);
      if (!component) this.#started.delete(id);
    } else if (!this.#starting.has(id) && !this.#started.has(id)) {
      this.#starting.set(
        id,
        this.#context.clock.setTimer(LONGEST_START_MS, () => this.#endWaitFor(id)),
      );
    }
  }

  #endWaitFor(id: string): void {
    const cancel = this.#starting.get(id);
    cancel?.();
    this.#starting.delete(id);
    this.#started.add(id);
    if (cancel && this.#starting.size === 0) this.#context.events.emit('registrySettled', {});
  }

  #poolChanged({ before, after }: PoolChange): void {
    if (after) {
      this.#left.get(after.launcherId)?.cancel();
      this.#left.delete(after.launcherId);
    }
    const { clock, events } = this.#context;
    if (!before || before.launcherId === after?.launcherId || this.isOwn(before.launcherId)) return;
    const { launcherId } = before;
    if (this.registered.has(launcherId)) return; // its entry in the other place remains
    this.#left.get(launcherId)?.cancel();
    const cancel = clock.setTimer(RETURN_MS, () => {
      this.#left.delete(launcherId);
      events.emit('registrySettled', {});
    });
    this.#left.set(launcherId, { pool: before, cancel });
  }
}
