import type { NodeId, NodeRecord, NodeState, RequestId, RequestRecord, Resources } from '@nodepool/zk-protocol';
import { accumulate, storedPart, unstoredPart } from '../../contract/resources.js';
import type { Launch } from '../state/events.js';
import type { ProviderRunner } from '../providers/provider-runner.js';
import type { ProviderSet } from '../providers/provider-set.js';
import type { Context } from '../state/context.js';
import { nodesAllocatedTo } from '../state/mirror.js';
import type { Reservation } from '../plan/types.js';
import { RequestPromises } from './request-promises.js';
import { Totals, type LabelPlace, type Use } from './totals.js';

/** States in which a node serves, or is going to serve, its request. */
const SERVING: ReadonlySet<string> = new Set<NodeState>(['init', 'building', 'ready', 'in-use']);
const ONE_INSTANCE: Resources = Object.freeze({ instances: 1 });

/** Reservations of the pools of one provider. */
interface ProviderReservations {
  /** For the accepted requests of each pool that wait for capacity. */
  readonly accepted: Map<string, readonly Reservation[]>;
  /** For the first request of each pool that waits for capacity of the provider. */
  readonly heads: Map<string, Reservation>;
}

/**
 * Used, promised and reserved resources by provider, pool, label and tenant. A node of an accepted request counts from the
 * decision on, first as a promise and then as a record, so that no capacity is given twice. Instances without a record do
 * not count.
 */
export class Ledger {
  readonly #context: Context;
  readonly #providers: Pick<ProviderSet, 'runnerOf'>;
  readonly #totals = new Totals();
  /** The use counted for each record, for subtracting the same: a label's need can change with the configuration. */
  readonly #records = new Map<NodeId, Use>();
  /** Requests that pools of this launcher work on. */
  readonly #requests = new Map<RequestId, RequestPromises>();
  /** Number of launches in progress by provider; a reload does not end any. */
  readonly #launches = new Map<string, number>();
  readonly #reservations = new Map<string, ProviderReservations>();
  readonly #unsubscribe: readonly (() => void)[];

  /** Construct it before its readers: listeners run in order of subscription, so pools hear of a change once it is counted. */
  constructor(context: Context, providers: Pick<ProviderSet, 'runnerOf'>) {
    this.#context = context;
    this.#providers = providers;
    const { events } = context;
    this.#unsubscribe = [
      events.on('nodeChanged', ({ before, after }) => this.#nodeChanged(before, after)),
      events.on('launchBegun', ({ launch }) => this.#launchBegun(launch)),
      events.on('launchEnded', ({ launch }) => this.#launchEnded(launch)),
    ];
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  // --- promises ---------------------------------------------------------------------------------------------------

  /** Whether a pool of this launcher works on the request. */
  has(id: RequestId): boolean {
    return this.#requests.has(id);
  }

  /**
   * A pool starts to work on the request, until {@link end}. Nodes that it has already, as another launcher made them, count by
   * their records. @param needs - resources for its labels, in their order
   */
  begin({ id, tenantName: tenant, labels }: RequestRecord, needs: readonly Resources[]): void {
    const known = this.#requests.get(id);
    if (known) {
      known.pools++;
      return;
    }
    const promises = new RequestPromises(this.#totals, tenant);
    this.#requests.set(id, promises);
    labels.forEach((label, i) => promises.add(label, needs[i] ?? ONE_INSTANCE));
    for (const node of nodesAllocatedTo(this.#context.mirror, id)) if (this.#servedBy(node)) promises.keep(node, false);
  }

  /** A pool ends its work on the request. */
  end(id: RequestId): void {
    const promises = this.#requests.get(id);
    if (!promises || --promises.pools > 0) return;
    this.#requests.delete(id);
    const { tenant } = promises;
    if (promises.end() && tenant !== null) this.#context.events.emit('tenantCapacityFreed', { tenant });
  }

  #launchBegun(launch: Launch): void {
    this.#launches.set(launch.provider, this.activeLaunches(launch.provider) + 1);
    if (!launch.node) this.#requests.get(launch.request)?.launchBegun(launch);
  }

  #launchEnded(launch: Launch): void {
    this.#launches.set(launch.provider, this.activeLaunches(launch.provider) - 1);
    const isFreed = this.#requests.get(launch.request)?.launchEnded(launch);
    if (isFreed) this.#context.events.emit('labelCapacityFreed', { label: launch.label });
  }

  // --- reservations -----------------------------------------------------------------------------------------------

  /** Replaces what a pool reserves for its accepted requests that wait for capacity. */
  reserve(provider: string, pool: string, reservations: readonly Reservation[]): void {
    const { accepted } = this.#reservedIn(provider);
    if (reservations.length > 0) accepted.set(pool, reservations);
    else accepted.delete(pool);
  }

  /** Replaces what a pool reserves for its first waiting request. @returns whether that frees capacity */
  reserveHead(provider: string, pool: string, head: Reservation | undefined): boolean {
    const { heads } = this.#reservedIn(provider);
    const before = heads.get(pool);
    if (head) heads.set(pool, head);
    else heads.delete(pool);
    return before !== undefined && !isSameReservation(before, head);
  }

  /** Reservations of a pool for its accepted requests. */
  reservationsOf(provider: string, pool: string): readonly Reservation[] {
    return this.#reservedIn(provider).accepted.get(pool) ?? [];
  }

  /** Reservations of the provider's other pools for their accepted requests. */
  reservationsBesides(provider: string, pool: string): Reservation[] {
    return [...this.#reservedIn(provider).accepted].flatMap(([name, list]) => (name === pool ? [] : list));
  }

  /** Reservations of the provider's other pools for their first waiting requests. */
  headsBesides(provider: string, pool: string): Reservation[] {
    return [...this.#reservedIn(provider).heads].flatMap(([name, head]) => (name === pool ? [] : [head]));
  }

  #reservedIn(provider: string): ProviderReservations {
    let known = this.#reservations.get(provider);
    if (!known) this.#reservations.set(provider, (known = { accepted: new Map(), heads: new Map() }));
    return known;
  }

  // --- use --------------------------------------------------------------------------------------------------------

  #nodeChanged(before: NodeRecord | undefined, after: NodeRecord | undefined): void {
    this.#replacePromise(before, after);
    if (before && after && before.resources === after.resources && isSameOwner(before, after)) return;
    if (before) {
      const use = this.#records.get(before.id);
      if (use) this.#totals.count(use, -1);
      this.#records.delete(before.id);
    }
    if (after) {
      const use = this.#useOf(after);
      this.#records.set(after.id, use);
      this.#totals.count(use, 1);
    }
    if (before) this.#tellFreed(before, after);
  }

  /** A node without stored resources counts with the need of its first label in its pool. */
  #useOf(node: NodeRecord): Use {
    const { provider, pool, labels, tenantName: tenant } = node;
    const resources = storedPart(node.resources ?? this.#providers.runnerOf(node)?.needOfNode(node) ?? ONE_INSTANCE);
    return { provider, pool, labels, tenant, resources };
  }

  #tellFreed(before: NodeRecord, after: NodeRecord | undefined): void {
    const { events } = this.#context;
    const { tenantName: tenant } = before;
    if (tenant !== null && tenant !== after?.tenantName) events.emit('tenantCapacityFreed', { tenant });
    const [label] = before.labels;
    const isElsewhere = !after || before.provider !== after.provider || before.pool !== after.pool;
    if (label !== undefined && (isElsewhere || !isSameLabels(before, after)))
      events.emit('labelCapacityFreed', { label });
  }

  /** Lets a node's record count in place of the request's promise, or the promise again. */
  #replacePromise(before: NodeRecord | undefined, after: NodeRecord | undefined): void {
    const was = before && this.#servedBy(before);
    const is = after && this.#servedBy(after);
    if (was === is) return;
    if (before) was?.lose(before.id);
    if (after) is?.keep(after, before === undefined);
  }

  #servedBy({ allocatedTo, state }: NodeRecord): RequestPromises | undefined {
    return allocatedTo !== null && SERVING.has(state) ? this.#requests.get(allocatedTo) : undefined;
  }

  // --- queries ----------------------------------------------------------------------------------------------------

  /** Number of launches decided on or in progress, in all pools of the provider. */
  activeLaunches(provider: string): number {
    return this.#launches.get(provider) ?? 0;
  }

  /**
   * Resources used by the nodes of a provider, also by those of pools and labels that have left the configuration: the cloud counts
   * them, and would refuse launches that seem to have room. Of what records do not hold, their need is not known.
   */
  usedByProvider(runner: ProviderRunner): Resources {
    const sum = this.#unstored(runner);
    accumulate(sum, this.#totals.ofProvider(runner.name));
    return sum;
  }

  /** As {@link usedByProvider}, of one pool. */
  usedByPool(runner: ProviderRunner, pool: string): Resources {
    const sum = this.#unstored(runner, pool);
    accumulate(sum, this.#totals.ofPool(runner.name, pool));
    return sum;
  }

  /** Resources used by the tenant's nodes in all pools, held ones included, and promised to its accepted requests. */
  usedByTenant(tenant: string): Resources {
    return this.#totals.ofTenant(tenant);
  }

  /** Number of nodes, including promised ones, in the places for which the predicate is true. */
  countNodes(isCounted: (place: LabelPlace) => boolean): number {
    return this.#totals.countNodes(isCounted);
  }

  /** Resources of the provider's nodes, or of one pool's, that are not stored in records. */
  #unstored(runner: ProviderRunner, only?: string): Resources {
    const used: Resources = {};
    for (const { pool, label, nodes } of this.#totals.labelsOf(runner.name)) {
      const config = only === undefined || pool === only ? runner.config.pools.get(pool) : undefined;
      if (config?.labels.has(label)) accumulate(used, unstoredPart(runner.needOf(label, config)), nodes);
    }
    return used;
  }
}

function isSameReservation(a: Reservation, b: Reservation | undefined): boolean {
  if (a.request.id !== b?.request.id) return false;
  return [...new Set([...Object.keys(a.need), ...Object.keys(b.need)])].every((name) => a.need[name] === b.need[name]);
}

function isSameOwner(a: NodeRecord, b: NodeRecord): boolean {
  return a.provider === b.provider && a.pool === b.pool && a.tenantName === b.tenantName && isSameLabels(a, b);
}

function isSameLabels(a: NodeRecord, b: NodeRecord): boolean {
  return a.labels === b.labels || (a.labels.length === b.labels.length && a.labels.every((l, i) => l === b.labels[i]));
}
