import type { NodeRecord, NodeState, Resources } from '@nodepool/zk-protocol';

/** One wanted node: its label and what it will use. */
export interface PromisedNode {
  readonly label: string;
  readonly need: Resources;
}

/** What one accepted request has been promised and no record stands for yet. */
interface Promised {
  readonly tenant: string;
  /** Pools of this process that work on the request; for a moment it can be more than one. */
  holders: number;
  readonly open: Map<string, Resources[]>;
  /** What each node of the request stands for. */
  readonly covered: Map<string, PromisedNode>;
}

/** States in which a node still is, or will be, what its request gets. */
const SERVING: ReadonlySet<string> = new Set<NodeState>(['init', 'building', 'ready', 'in-use']);

/**
 * What tenants' accepted requests will get, from the decision until there are records: several pools, and several passes
 * of one, must not give the same capacity twice.
 */
export class UsagePromises {
  readonly #requests = new Map<string, Promised>();
  readonly #count: (tenant: string, need: Resources, factor: 1 | -1) => void;

  /** @param count - called with each change of what a tenant has been promised */
  constructor(count: (tenant: string, need: Resources, factor: 1 | -1) => void) {
    this.#count = count;
  }

  /** Enters a request. Each call needs one of {@link leave}. */
  enter(request: string, tenant: string, nodes: readonly PromisedNode[]): void {
    const known = this.#requests.get(request);
    if (known) {
      known.holders++;
      return;
    }
    const promised: Promised = { tenant, holders: 1, open: new Map(), covered: new Map() };
    this.#requests.set(request, promised);
    for (const node of nodes) this.#open(promised, node);
  }

  /** The request has its nodes, or gets none here. @returns whether capacity of the tenant is free again */
  leave(request: string): boolean {
    const promised = this.#requests.get(request);
    if (!promised || --promised.holders > 0) return false;
    this.#requests.delete(request);
    let isFreed = false;
    for (const needs of promised.open.values()) {
      for (const need of needs) this.#count(promised.tenant, need, -1);
      isFreed ||= needs.length > 0;
    }
    return isFreed;
  }

  /** From now on the record of a node counts in place of the promise, or no longer does. */
  nodeChanged(before: NodeRecord | undefined, after: NodeRecord | undefined): void {
    if (this.#requests.size === 0) return;
    const was = before && this.#servedBy(before);
    const is = after && this.#servedBy(after);
    if (was === is) return;
    const covered = before && was?.covered.get(before.id);
    if (covered) {
      was?.covered.delete(before.id);
      if (was) this.#open(was, covered);
    }
    if (after && is) this.#cover(is, after);
  }

  #servedBy({ allocatedTo, state }: NodeRecord): Promised | undefined {
    return allocatedTo !== null && SERVING.has(state) ? this.#requests.get(allocatedTo) : undefined;
  }

  #open(promised: Promised, { label, need }: PromisedNode): void {
    const needs = promised.open.get(label);
    if (needs) needs.push(need);
    else promised.open.set(label, [need]);
    this.#count(promised.tenant, need, 1);
  }

  #cover(promised: Promised, node: NodeRecord): void {
    for (const label of node.labels) {
      const need = promised.open.get(label)?.pop();
      if (!need) continue;
      promised.covered.set(node.id, { label, need });
      this.#count(promised.tenant, need, -1);
      return;
    }
  }
}
