import type { NodeRecord, RequestRecord, Resources } from '@nodepool/zk-protocol';
import type { PoolConfig } from '../../contract/provider-config.js';
import { accumulate, storedPart } from '../../contract/resources.js';
import { UsagePromises, type PromisedNode } from './usage-promises.js';

const NOTHING: Resources = Object.freeze({});

/**
 * Running totals of the resources of all nodes, by pool and label, and by tenant. An update takes constant time, however
 * many nodes there are. Instances without a record are not counted.
 */
export class Usage {
  /** By pool, then by the first label of the nodes. */
  readonly #pools = new Map<string, Map<string, Resources>>();
  readonly #tenants = new Map<string, Resources>();
  /** Resources added for each node, to subtract the same: the needs of a label can change with the configuration. */
  readonly #counted = new Map<string, Resources>();
  readonly #needOf: (node: NodeRecord) => Resources;
  readonly #promises = new UsagePromises((tenant, need, factor) => add(this.#tenants, tenant, need, factor));
  readonly #capacityListeners = new Set<() => void>();

  /** @param needOf - what a node without stored `resources` is counted as, e.g. its label's need */
  constructor(needOf: (node: NodeRecord) => Resources) {
    this.#needOf = needOf;
  }

  change(before: NodeRecord | undefined, after: NodeRecord | undefined): void {
    this.#promises.nodeChanged(before, after);
    if (before && after && before.resources === after.resources && sameOwner(before, after)) return;
    if (before) {
      this.#count(before, this.#counted.get(before.id) ?? NOTHING, -1);
      this.#counted.delete(before.id);
    }
    if (after) {
      const need = storedPart(after.resources ?? this.#needOf(after));
      this.#counted.set(after.id, need);
      this.#count(after, need, 1);
    }
    if (before && before.tenantName !== null && before.tenantName !== after?.tenantName) this.#tellCapacity();
  }

  /**
   * A tenant's request is accepted: what it will get counts for the tenant at once.
   * @returns to be called once when the work on the request has ended, and only its nodes' records count
   */
  promise(request: RequestRecord, nodes: readonly PromisedNode[]): () => void {
    if (request.tenantName === null) return () => undefined;
    this.#promises.enter(request.id, request.tenantName, nodes);
    return () => this.#promises.leave(request.id) && this.#tellCapacity();
  }

  /** Tells when a tenant uses less, so that its waiting requests can be served. @returns ends it */
  onTenantCapacity(listener: () => void): () => void {
    this.#capacityListeners.add(listener);
    return () => this.#capacityListeners.delete(listener);
  }

  /**
   * What the nodes of a provider use. As with the original, nodes of pools and labels that have left the configuration do not
   * count against quotas and ceilings.
   * @param pools - those of the configuration
   */
  ofProvider(provider: string, pools: Iterable<Pick<PoolConfig, 'name' | 'labels'>>): Resources {
    const sum: Resources = {};
    for (const pool of pools) this.#addPool(sum, provider, pool);
    return sum;
  }

  /** As {@link ofProvider}, of one pool. */
  ofPool(provider: string, pool: Pick<PoolConfig, 'name' | 'labels'>): Resources {
    const sum: Resources = {};
    this.#addPool(sum, provider, pool);
    return sum;
  }

  /**
   * What the nodes of a tenant use, wherever they are and whether anybody holds them, and what its accepted requests will
   * use. A node without stored resources counts as its label's need, as in its pool.
   */
  ofTenant(tenant: string): Resources {
    return this.#tenants.get(tenant) ?? NOTHING;
  }

  #addPool(sum: Resources, provider: string, { name, labels }: Pick<PoolConfig, 'name' | 'labels'>): void {
    for (const [label, amount] of this.#pools.get(poolKey(provider, name)) ?? []) {
      if (labels.has(label)) accumulate(sum, amount);
    }
  }

  #count(node: NodeRecord, need: Resources, factor: 1 | -1): void {
    const [label] = node.labels;
    if (node.provider !== null && node.pool !== null && label !== undefined) {
      const key = poolKey(node.provider, node.pool);
      let ofPool = this.#pools.get(key);
      if (!ofPool) this.#pools.set(key, (ofPool = new Map<string, Resources>()));
      add(ofPool, label, need, factor);
    }
    if (node.tenantName !== null) add(this.#tenants, node.tenantName, need, factor);
  }

  #tellCapacity(): void {
    for (const listener of this.#capacityListeners) listener();
  }
}

/** The pair that was asked for last: a node's change asks for the same one many times, and to make and hash a text costs more. */
let last = { provider: '', pool: '', key: '\0' };

/** Key of a provider-pool pair; a NUL cannot be part of a name. */
export function poolKey(provider: string, pool: string): string {
  if (last.provider !== provider || last.pool !== pool) last = { provider, pool, key: `${provider}\0${pool}` };
  return last.key;
}

function add(totals: Map<string, Resources>, key: string, amount: Resources, factor: 1 | -1): void {
  let total = totals.get(key);
  if (!total) totals.set(key, (total = {}));
  accumulate(total, amount, factor);
}

function sameOwner(a: NodeRecord, b: NodeRecord): boolean {
  return a.provider === b.provider && a.pool === b.pool && a.tenantName === b.tenantName && a.labels === b.labels;
}
