import type { DecidingPool } from '@nodepool/core/launcher';
import type { NodeRecord } from '@nodepool/zk-protocol';
import type { GroupLog } from './group-log.js';

/** Part of what nodes carry as `launcher` that a pool has made. */
const POOL_ID = '-PoolWorker.';

/** What is noted of a pool. */
export interface KnownPool {
  /** `provider/pool`. */
  readonly key: string;
  /** Its queued requests by what they ask for. */
  readonly groups: Map<string, GroupLog>;
  /** Accepted requests that wait for capacity, with the rule. */
  paused: Map<string, string>;
}

/** The pools of this launcher. */
export class OwnPools {
  readonly #pools = new WeakMap<DecidingPool, KnownPool>();
  readonly #ids = new Set<string>();
  readonly #keys = new Set<string>();

  /** What is noted of the pool; from the first call until it is closed it is one of this launcher. */
  of(view: DecidingPool): KnownPool {
    let pool = this.#pools.get(view);
    if (!pool) {
      pool = { key: `${view.provider}/${view.pool.name}`, groups: new Map(), paused: new Map() };
      this.#pools.set(view, pool);
      this.#ids.add(view.launcherId);
      this.#keys.add(pool.key);
    }
    return pool;
  }

  close(view: DecidingPool): void {
    this.#ids.delete(view.launcherId);
    this.#keys.delete(this.of(view).key);
  }

  /** Whether a pool with this id in the registry is one of this launcher. */
  has(launcherId: string): boolean {
    return this.#ids.has(launcherId);
  }

  /** Nodes that no pool has made, such as those of static hosts, are noted by all launchers that have their pool. */
  holds({ launcher, provider, pool }: NodeRecord): boolean {
    if (launcher !== null && this.#ids.has(launcher)) return true;
    if (launcher?.includes(POOL_ID)) return false;
    return this.#keys.has(`${provider}/${pool}`);
  }
}
