import type { DecidingPool } from '@nodepool/core/launcher';
import type { NodeRecord } from '@nodepool/zk-protocol';
import type { GroupLog } from './group-log.js';

/** Part of the `launcher` of nodes that a pool launched. */
const POOL_ID = '-PoolWorker.';

/** Recorded state of a pool. */
export interface KnownPool {
  /** `provider/pool`. */
  readonly key: string;
  /** Its queued requests, grouped by labels. */
  readonly groups: Map<string, GroupLog>;
  /** Accepted requests that wait for capacity, with the rule that holds them back. */
  paused: Map<string, string>;
}

/** The pools of this launcher. */
export class OwnPools {
  readonly #pools = new WeakMap<DecidingPool, KnownPool>();
  readonly #ids = new Set<string>();
  readonly #keys = new Set<string>();
  /** Ids of pools without their last, random part. */
  readonly #names = new Set<string>();

  /** State of a pool. The first call adds the pool to this launcher, {@link OwnPools.close} removes it. */
  of(view: DecidingPool): KnownPool {
    let pool = this.#pools.get(view);
    if (!pool) {
      pool = { key: `${view.provider}/${view.pool.name}`, groups: new Map(), paused: new Map() };
      this.#pools.set(view, pool);
      this.#ids.add(view.launcherId);
      this.#names.add(nameOf(view.launcherId));
      this.#keys.add(pool.key);
    }
    return pool;
  }

  close(view: DecidingPool): void {
    this.#ids.delete(view.launcherId);
    this.#names.delete(nameOf(view.launcherId));
    this.#keys.delete(this.of(view).key);
  }

  /** Whether the pool with this registry id belongs to this launcher. */
  has(launcherId: string): boolean {
    return this.#ids.has(launcherId);
  }

  /**
   * Whether to record a node: those of a pool of this launcher, also from before a restart. Nodes that no pool launched, such as
   * static hosts, are recorded by each launcher with their pool.
   */
  holds({ launcher, provider, pool }: NodeRecord): boolean {
    if (launcher !== null && this.#ids.has(launcher)) return true;
    if (launcher?.includes(POOL_ID)) return this.#names.has(nameOf(launcher));
    return this.#keys.has(`${provider}/${pool}`);
  }
}

/** `<host>-PoolWorker.<provider>-<pool>`: a restarted launcher registers its pools with another random part. */
function nameOf(launcherId: string): string {
  return launcherId.slice(0, launcherId.lastIndexOf('-'));
}
