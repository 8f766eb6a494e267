import type { NodeRecord, PoolComponentRecord } from '@nodepool/zk-protocol';
import { poolKey } from '../state/pool-key.js';
import { firstPoolFor } from '../health/first-pool.js';
import type { RegisteredPools } from './registered-pools.js';

/** After so many nodes of others' in a row a pool takes them as they come. */
const LOOK_AHEAD = 64;

/**
 * Pools that several launchers have, each of which sees all their nodes: which of the launchers deals with which node
 * first, so that not all of them try. Found as the first pool of a request is.
 */
export class SharedPools {
  readonly #pools: Pick<RegisteredPools, 'pools'>;
  readonly #own: ReadonlySet<string>;
  #registered: readonly PoolComponentRecord[] = [];
  #shared: ReadonlyMap<string, readonly PoolComponentRecord[]> = new Map();

  /** @param own - ids of pools of this launcher, now or once */
  constructor(pools: Pick<RegisteredPools, 'pools'>, own: ReadonlySet<string>) {
    this.#pools = pools;
    this.#own = own;
  }

  /** Whether another launcher is the first to deal with the node. */
  isOthersFirst({ id, provider, pool }: NodeRecord): boolean {
    const sharers = this.#sharersOf(provider, pool);
    const first = sharers && firstPoolFor(id, sharers);
    return first !== undefined && !this.#own.has(first.launcherId);
  }

  /** The nodes of a pool, those first that this launcher is the first to deal with. */
  ownFirst(nodes: Iterable<NodeRecord>, provider: string, pool: string): Iterable<NodeRecord> {
    return this.#sharersOf(provider, pool) ? this.#sorted(nodes) : nodes;
  }

  *#sorted(nodes: Iterable<NodeRecord>): Generator<NodeRecord> {
    const others: NodeRecord[] = [];
    for (const node of nodes) {
      if (others.length < LOOK_AHEAD && this.isOthersFirst(node)) others.push(node);
      else {
        if (others.length === LOOK_AHEAD) yield* others.splice(0);
        yield node;
      }
    }
    yield* others;
  }

  /** All that share one of our pools and know of it; `undefined`: it is ours alone, or not ours. */
  #sharersOf(provider: string | null, pool: string | null): readonly PoolComponentRecord[] | undefined {
    const registered = this.#pools.pools;
    if (this.#registered !== registered) {
      this.#registered = registered;
      this.#shared = sharedPools(registered, this.#own);
    }
    return this.#shared.size === 0 ? undefined : this.#shared.get(poolKey(provider ?? '', pool ?? ''));
  }
}

/** By pool, those of several launchers that know of sharing, one of which is ours. */
function sharedPools(
  registered: readonly PoolComponentRecord[],
  own: ReadonlySet<string>,
): Map<string, PoolComponentRecord[]> {
  const shared = new Map<string, PoolComponentRecord[]>();
  for (const pool of registered) {
    if (!pool.firstPoolPauseMs) continue;
    const key = poolKey(pool.providerName, pool.name);
    const sharers = shared.get(key);
    if (sharers) sharers.push(pool);
    else shared.set(key, [pool]);
  }
  for (const [key, sharers] of shared) {
    if (sharers.length === 1 || !sharers.some(({ launcherId }) => own.has(launcherId))) shared.delete(key);
  }
  return shared;
}
