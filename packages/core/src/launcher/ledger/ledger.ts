import type { NodeId, NodeRecord, NodeState, RequestId, RequestRecord, Resources } from '@nodepool/zk-protocol';
import { accumulate, storedPart, unstoredPart } from '../../contract/resources.js';
import type { Launch } from '../events.js';
import type { ProviderRunner } from '../providers/provider-runner.js';
import type { ProviderSet } from '../providers/provider-set.js';
import type { Context } from '../state/context.js';
import { RequestPromises } from './request-promises.js';
import { Reservations } from './reservations.js';
import { Totals, type LabelPlace, type Use } from './totals.js';

/** States in which a node still is, or will be, what its request gets. */
const SERVING: ReadonlySet<string> = new Set<NodeState>(['init', 'building', 'ready', 'in-use']);
const ONE_INSTANCE: Resources = Object.freeze({ instances: 1 });

/**
 * What is used and promised, by provider, pool, label and tenant. A node of an accepted request counts from the decision on,
 * first by its promise and then by its record, so that no capacity is given twice. Instances without a record are not counted.
 */
export class Ledger {
  readonly reservations = new Reservations();
  readonly #context: Context;
  readonly #providers: Pick<ProviderSet, 'runnerOf'>;
  readonly #totals = new Totals();
  /** What was counted for each record, to take the same away: what a label needs can change with the configuration. */
  readonly #records = new Map<NodeId, Use>();
  /** Requests that pools of this launcher work on. */
  readonly #requests = new Map<RequestId, RequestPromises>();
  /** Launches under way, by provider. A reload ends none. */
  readonly #launches = new Map<string, number>();
  readonly #unsubscribe: readonly (() => void)[];

  /** Made before whatever decides by what it tells: pools hear of a change after it has been counted. */
  constructor(context: Context, providers: Pick<ProviderSet, 'runnerOf'>) {
    this.#context = context;
    this.#providers = providers;
    const { events, mirror } = context;
    this.#unsubscribe = [
      mirror.listen({ onNode: ({ before, after }) => this.#nodeChanged(before, after) }),
      events.on('launchBegun', ({ launch }) => this.#launchBegun(launch)),
      events.on('launchEnded', ({ launch }) => this.#launchEnded(launch)),
    ];
  }

  close(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  // --- what is promised -------------------------------------------------------------------------------------------

  /** A pool of this launcher works on the request. */
  has(id: RequestId): boolean {
    return this.#requests.has(id);
  }

  /** A pool begins to work on the request. Each call needs one of {@link end}. @param needs - of its labels, in their order */
  begin({ id, tenantName: tenant, labels }: RequestRecord, needs: readonly Resources[]): void {
    const known = this.#requests.get(id);
    if (known) {
      known.pools++;
      return;
    }
    const promises = new RequestPromises(this.#totals, tenant);
    this.#requests.set(id, promises);
    labels.forEach((label, i) => promises.add(label, needs[i] ?? ONE_INSTANCE));
  }

  /** The request has its nodes, or gets none here. */
  end(id: RequestId): void {
    const promises = this.#requests.get(id);
    if (!promises || --promises.pools > 0) return;
    this.#requests.delete(id);
    const { tenant } = promises;
    if (promises.end() && tenant !== null) this.#context.events.emit('tenantCapacityFreed', { tenant });
  }

  #launchBegun(launch: Launch): void {
    this.#launches.set(launch.provider, this.activeLaunches(launch.provider) + 1);
    this.#requests.get(launch.request)?.launchBegun(launch);
  }

  #launchEnded(launch: Launch): void {
    this.#launches.set(launch.provider, this.activeLaunches(launch.provider) - 1);
    const isFreed = this.#requests.get(launch.request)?.launchEnded(launch);
    if (isFreed) this.#context.events.emit('labelCapacityFreed', { label: launch.label });
  }

  // --- what is used -----------------------------------------------------------------------------------------------

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

  /** A node without stored resources counts as what its first label needs in its pool. */
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

  /** From now on the record of a node counts in place of the promise, or no longer does. */
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

  // --- questions --------------------------------------------------------------------------------------------------

  /** Launches decided on or under way, over all pools of the provider. */
  activeLaunches(provider: string): number {
    return this.#launches.get(provider) ?? 0;
  }

  /**
   * What the nodes of a provider use. As with the original, nodes of pools and labels that have left the configuration do not
   * count against quotas and ceilings.
   */
  usedByProvider(runner: ProviderRunner): Resources {
    const sum = this.#unstored(runner);
    for (const pool of runner.config.pools.values()) accumulate(sum, this.#totals.ofPool(runner.name, pool));
    return sum;
  }

  /** As {@link usedByProvider}, of one pool. */
  usedByPool(runner: ProviderRunner, pool: string): Resources {
    const sum = this.#unstored(runner, pool);
    const configured = runner.config.pools.get(pool);
    if (configured) accumulate(sum, this.#totals.ofPool(runner.name, configured));
    return sum;
  }

  /** What the nodes of a tenant use, wherever they are and whether anybody holds them, and what its accepted requests will use. */
  usedByTenant(tenant: string): Resources {
    return this.#totals.ofTenant(tenant);
  }

  /** Nodes in all places that are asked for, those about to be made included. */
  countNodes(isCounted: (place: LabelPlace) => boolean): number {
    return this.#totals.countNodes(isCounted);
  }

  /** What all nodes of the provider, or of one pool, use of that which no record tells. */
  #unstored(runner: ProviderRunner, only?: string): Resources {
    const used: Resources = {};
    for (const { pool, label, nodes } of this.#totals.labelsOf(runner.name)) {
      const config = only === undefined || pool === only ? runner.config.pools.get(pool) : undefined;
      if (config?.labels.has(label)) accumulate(used, unstoredPart(runner.needOf(label, config)), nodes);
    }
    return used;
  }
}

function isSameOwner(a: NodeRecord, b: NodeRecord): boolean {
  return a.provider === b.provider && a.pool === b.pool && a.tenantName === b.tenantName && isSameLabels(a, b);
}

function isSameLabels(a: NodeRecord, b: NodeRecord): boolean {
  return a.labels === b.labels || (a.labels.length === b.labels.length && a.labels.every((l, i) => l === b.labels[i]));
}
