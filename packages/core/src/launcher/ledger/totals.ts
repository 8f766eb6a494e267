import type { Resources } from '@nodepool/zk-protocol';
import { accumulate } from '../../contract/resources.js';
import type { PoolConfig } from '../../contract/provider-config.js';
import { poolKey } from '../state/pool-key.js';

/** What one node uses or will use. Of several labels it counts by the first one in its pool, and for each in {@link Totals.countNodes}. */
export interface Use {
  /** `null`: not in a pool yet. */
  readonly provider: string | null;
  readonly pool: string | null;
  readonly labels: readonly string[];
  readonly tenant: string | null;
  readonly resources: Resources;
}

/** Where nodes are made, and of which label. */
export interface LabelPlace {
  readonly provider: string;
  readonly pool: string;
  readonly label: string;
}

/** How many nodes of a label there are in one place. */
export interface LabelCount extends LabelPlace {
  nodes: number;
}

const NOTHING: Resources = Object.freeze({});

/** Running totals of what nodes use. A change takes constant time, however many nodes there are. */
export class Totals {
  /** By pool, then by the first label of the nodes. */
  readonly #pools = new Map<string, Map<string, Resources>>();
  readonly #tenants = new Map<string, Resources>();
  readonly #labels = new Map<string, LabelCount>();

  /** @param factor - `1`: counts from now on; `-1`: no longer */
  count({ provider, pool, labels, tenant, resources }: Use, factor: 1 | -1): void {
    if (tenant !== null) add(this.#tenants, tenant, resources, factor);
    if (provider === null || pool === null) return;
    const key = poolKey(provider, pool);
    const [first] = labels;
    if (first !== undefined) {
      let ofPool = this.#pools.get(key);
      if (!ofPool) this.#pools.set(key, (ofPool = new Map<string, Resources>()));
      add(ofPool, first, resources, factor);
    }
    for (const label of labels) this.#countLabel(`${key}\0${label}`, { provider, pool, label }, factor);
  }

  ofTenant(tenant: string): Resources {
    return this.#tenants.get(tenant) ?? NOTHING;
  }

  /** Of the nodes of these labels. */
  ofPool(provider: string, { name, labels }: Pick<PoolConfig, 'name' | 'labels'>): Resources {
    const sum: Resources = {};
    for (const [label, amount] of this.#pools.get(poolKey(provider, name)) ?? []) {
      if (labels.has(label)) accumulate(sum, amount);
    }
    return sum;
  }

  /** Nodes in all places that are asked for. */
  countNodes(isCounted: (place: LabelPlace) => boolean): number {
    let total = 0;
    for (const count of this.#labels.values()) if (isCounted(count)) total += count.nodes;
    return total;
  }

  /** How many nodes of each label the pools of a provider have. */
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
