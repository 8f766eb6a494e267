import type { NodeRecord, Resources } from '@nodepool/zk-protocol';
import { accumulate } from '../plan/resources.js';

const NOTHING: Resources = Object.freeze({});

/**
 * Running totals of what nodes use, by provider, pool and tenant; a change of one node costs the same whether there are
 * ten nodes or ten thousand.
 */
export class Usage {
  readonly #providers = new Map<string, Resources>();
  readonly #pools = new Map<string, Resources>();
  readonly #tenants = new Map<string, Resources>();
  /** What each node was counted as: a label's need can change with the configuration, what was added cannot. */
  readonly #counted = new Map<string, Resources>();
  readonly #needOf: (node: NodeRecord) => Resources;

  /** @param needOf - what a node without stored `resources` is counted as, e.g. its label's need */
  constructor(needOf: (node: NodeRecord) => Resources) {
    this.#needOf = needOf;
  }

  change(before: NodeRecord | undefined, after: NodeRecord | undefined): void {
    if (before && after && before.resources === after.resources && sameOwner(before, after)) return;
    if (before) {
      this.#count(before, this.#counted.get(before.id) ?? NOTHING, -1);
      this.#counted.delete(before.id);
    }
    if (after) {
      const need = after.resources ?? this.#needOf(after);
      this.#counted.set(after.id, need);
      this.#count(after, need, 1);
    }
  }

  ofProvider(provider: string): Resources {
    return this.#providers.get(provider) ?? NOTHING;
  }

  ofPool(provider: string, pool: string): Resources {
    return this.#pools.get(poolKey(provider, pool)) ?? NOTHING;
  }

  ofTenant(tenant: string): Resources {
    return this.#tenants.get(tenant) ?? NOTHING;
  }

  #count(node: NodeRecord, need: Resources, factor: 1 | -1): void {
    if (node.provider !== null) {
      add(this.#providers, node.provider, need, factor);
      if (node.pool !== null) add(this.#pools, poolKey(node.provider, node.pool), need, factor);
    }
    if (node.tenantName !== null && node.resources !== null) add(this.#tenants, node.tenantName, need, factor);
  }
}

/** Key of a provider-pool pair; a NUL cannot be part of a name. */
export function poolKey(provider: string, pool: string): string {
  return `${provider}\0${pool}`;
}

function add(totals: Map<string, Resources>, key: string, amount: Resources, factor: 1 | -1): void {
  let total = totals.get(key);
  if (!total) totals.set(key, (total = {}));
  accumulate(total, amount, factor);
}

function sameOwner(a: NodeRecord, b: NodeRecord): boolean {
  return a.provider === b.provider && a.pool === b.pool && a.tenantName === b.tenantName && a.labels === b.labels;
}
