import {
  isPoolComponent,
  type ComponentRecord,
  type LauncherId,
  type NodeRecord,
  type PoolComponentRecord,
  type RecordCache,
} from '@nodepool/zk-protocol';
import type { LauncherEvents } from '../state/events.js';
import { firstPoolFor } from '../plan/first-pool.js';
import { poolKey } from '../state/pool-key.js';

/** Limits how many nodes {@link RegisteredPools.ownFirst} examines for an own one before it yields the others. */
const LOOK_AHEAD = 64;

/**
 * The registered pools of all launchers, as the component cache shows them. Launchers that share a pool see the same nodes;
 * rendezvous hashing picks the one that handles a node first, so that not all of them try.
 */
export class RegisteredPools {
  readonly #components: Pick<RecordCache<ComponentRecord>, 'values' | 'onChange'>;
  readonly #own: ReadonlySet<string>;
  readonly #unsubscribe: () => void;
  #pools: PoolComponentRecord[] | undefined;
  #shared: ReadonlyMap<string, readonly PoolComponentRecord[]> | undefined;

  /** @param own - ids of this launcher's pools, present and past */
  constructor(
    components: Pick<RecordCache<ComponentRecord>, 'values' | 'onChange'>,
    events: LauncherEvents,
    own: ReadonlySet<string>,
  ) {
    this.#components = components;
    this.#own = own;
    this.#unsubscribe = components.onChange(({ before, after }) => {
      const change = { before: asPool(before), after: asPool(after) };
      if (!change.before && !change.after) return;
      this.#pools = this.#shared = undefined;
      events.emit('poolChanged', change);
    });
  }

  /** The array is replaced on change, never modified. */
  get pools(): readonly PoolComponentRecord[] {
    this.#pools ??= [...this.#components.values()].filter(isPoolComponent);
    return this.#pools;
  }

  /** Whether the pool has an entry, in the component registry or where old launchers look. */
  has(launcherId: LauncherId): boolean {
    return this.pools.some((pool) => pool.launcherId === launcherId);
  }

  /** Whether this launcher is the first to handle the node; always true for a pool that is not shared. */
  isFirstPoolFor({ id, provider, pool }: NodeRecord): boolean {
    const sharers = this.#sharersOf(provider, pool);
    const first = sharers && firstPoolFor(id, sharers);
    return first === undefined || this.#own.has(first.launcherId);
  }

  /** Orders the nodes of a pool: those that this launcher handles first come before the others. */
  ownFirst(nodes: Iterable<NodeRecord>, provider: string, pool: string): Iterable<NodeRecord> {
    return this.#sharersOf(provider, pool) ? this.#sorted(nodes) : nodes;
  }

  close(): void {
    this.#unsubscribe();
  }

  *#sorted(nodes: Iterable<NodeRecord>): Generator<NodeRecord> {
    const others: NodeRecord[] = [];
    for (const node of nodes) {
      if (others.length < LOOK_AHEAD && !this.isFirstPoolFor(node)) others.push(node);
      else {
        if (others.length === LOOK_AHEAD) yield* others.splice(0);
        yield node;
      }
    }
    yield* others;
  }

  /** The launchers' entries of a pool that this launcher shares with others; `undefined` for any other pool. */
  #sharersOf(provider: string | null, pool: string | null): readonly PoolComponentRecord[] | undefined {
    this.#shared ??= sharedPools(this.pools, this.#own);
    return this.#shared.size === 0 ? undefined : this.#shared.get(poolKey(provider ?? '', pool ?? ''));
  }
}

function asPool(component: ComponentRecord | undefined): PoolComponentRecord | undefined {
  return component && isPoolComponent(component) ? component : undefined;
}

/** Entries by pool, of pools that this launcher and others have. Launchers that do not support sharing are left out. */
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
