import type { Resources } from '@nodepool/zk-protocol';
import { accumulate } from '../../contract/resources.js';
import { poolKey } from '../state/pool-key.js';

/** Resources that one node uses or will use. A node with several labels counts under each in {@link Totals.countNodes}. */
export interface Use {
  /** `null` while no pool is chosen. */
  readonly provider: string | null;
  readonly pool: string | null;
  readonly labels: readonly string[];
  readonly tenant: string | null;
  readonly resources: Resources;
}

/** A label in a pool. */
export interface LabelPlace {
  readonly provider: string;
  readonly pool: string;
  readonly label: string;
}

/** The number of nodes of a label in a pool. */
export interface LabelCount extends LabelPlace {
  nodes: number;
}

const NOTHING: Resources = Object.freeze({});

/** Running totals of used resources. A change takes constant time, however many nodes there are. */
export class Totals {
  readonly #providers = new Map<string, Resources>();
  readonly #pools = new Map<string, Resources>();
  readonly #tenants = new Map<string, Resources>();
  readonly #labels = new Map<string, LabelCount>();

  /** @param factor - `1` adds, `-1` subtracts */
  count({ provider, pool, labels, tenant, resources }: Use, factor: 1 | -1): void {
    if (tenant !== null) add(this.#tenants, tenant, resources, factor);
    if (provider === null || pool === null) return;
    const key = poolKey(provider, pool);
    add(this.#providers, provider, resources, factor);
    add(this.#pools, key, resources, factor);
    for (const label of labels) this.#countLabel(`${key}\0${label}`, { provider, pool, label }, factor);
  }

  ofTenant(tenant: string): Resources {
    return this.#tenants.get(tenant) ?? NOTHING;
  }

  ofProvider(provider: string): Resources {
    return this.#providers.get(provider) ?? NOTHING;
  }

  ofPool(provider: string, pool: string): Resources {
    return this.#pools.get(poolKey(provider, pool)) ?? NOTHING;
  }

  /** Number of nodes in the places for which the predicate is true. */
  countNodes(isCounted: (place: LabelPlace) => boolean): number {
    let total = 0;
    for (const count of this.#labels.values()) if (isCounted(count)) total += count.nodes;
    return total;
  }

  /** Number of nodes of each label, by pool of the provider. */
  *labelsOf(provider: string): Generator<Readonly<LabelCount>> {
    for (const count of this.#labels.values()) if (count.provider === provider) yield count;
  }

  #countLabel(key: string, place: LabelPlace, step: 1 | -1): void {
    const known = this.#labels.get(key);
    if (!known) this.#labels.set(key, { ...place, nodes: step });
    else if ((known.nodes += step) === 0) this.#labels.delete(key);
  }
}

function add(totals: Map<string, Resources>, key: string, amount: Resources, factor: 1 | -1): void {
  let total = totals.get(key);
  if (!total) totals.set(key, (total = {}));
  accumulate(total, amount, factor);
}
