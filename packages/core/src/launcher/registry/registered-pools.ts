import {
  isPoolComponent,
  type ComponentRecord,
  type LauncherId,
  type PoolComponentRecord,
  type RecordCache,
} from '@nodepool/zk-protocol';

/** How the set of registered pools changed. */
export interface PoolChange {
  readonly before: PoolComponentRecord | undefined;
  readonly after: PoolComponentRecord | undefined;
}

/** The registered pools of all launchers, as the component cache shows them. */
export class RegisteredPools {
  readonly #components: RecordCache<ComponentRecord>;
  readonly #listeners = new Set<(change: PoolChange) => void>();
  readonly #unsubscribe: () => void;
  #pools: PoolComponentRecord[] | undefined;

  constructor(components: RecordCache<ComponentRecord>) {
    this.#components = components;
    this.#unsubscribe = components.onChange(({ before, after }) => {
      const change = { before: asPool(before), after: asPool(after) };
      if (!change.before && !change.after) return;
      this.#pools = undefined;
      for (const listener of this.#listeners) listener(change);
    });
  }

  /** All of them; the array is replaced on change, never modified. */
  get pools(): readonly PoolComponentRecord[] {
    this.#pools ??= [...this.#components.values()].filter(isPoolComponent);
    return this.#pools;
  }

  /** A pool has an entry, of whichever kind. */
  has(launcherId: LauncherId): boolean {
    return this.pools.some((pool) => pool.launcherId === launcherId);
  }

  onChange(listener: (change: PoolChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#unsubscribe();
    this.#listeners.clear();
  }
}

function asPool(component: ComponentRecord | undefined): PoolComponentRecord | undefined {
  return component && isPoolComponent(component) ? component : undefined;
}
