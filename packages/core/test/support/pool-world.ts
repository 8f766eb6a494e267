import {
  compareRequests,
  newPoolComponent,
  newRequest,
  type LauncherId,
  type RequestId,
  type RequestRecord,
  type Resources,
} from '@nodepool/zk-protocol';
import { planPool, type PausedRequest, type PoolPlan } from '../../src/launcher/plan/plan-pool.js';
import { RequestQueue } from '../../src/launcher/plan/queue.js';
import { accumulate, sumResources } from '../../src/contract/resources.js';
import { judgeStanding } from '../../src/launcher/plan/rules.js';
import type { Assignment, PoolView } from '../../src/launcher/plan/types.js';
import { poolConfig } from './pool-config.js';
import { poolView } from './pool-view.js';

/** A node of a {@link PoolWorld}. */
export interface WorldNode {
  readonly label: string;
  readonly pool: WorldPool;
  readonly request: RequestRecord;
  isBuilding: boolean;
}

/** An accepted request that lacks nodes. */
interface Accepted extends PausedRequest {
  readonly pool: WorldPool;
}

/** Options of a {@link PoolWorld}. */
export interface WorldSpec {
  /** Resources of one node by label. */
  readonly needs: Readonly<Record<string, Resources>>;
  /** Quota of the provider, shared by all pools. */
  readonly quota: Resources;
  readonly maxConcurrency: number;
  readonly pools: readonly { readonly labels: readonly string[]; readonly limits: Resources }[];
}

/** A pool and the requests that wait for it. */
export class WorldPool {
  readonly queue = new RequestQueue();
  readonly id: LauncherId;

  constructor(
    readonly name: string,
    readonly labels: readonly string[],
    readonly limits: Resources,
  ) {
    this.id = name as LauncherId;
  }
}

/** Input and result of a planning pass. */
export interface WorldPass {
  readonly pool: WorldPool;
  readonly view: PoolView;
  readonly paused: readonly PausedRequest[];
  /** Waiting requests in processing order, with their group key. */
  readonly waiting: readonly { request: RequestRecord; group: string }[];
  readonly plan: PoolPlan;
}

/**
 * Pools of one provider during many planning passes: requests arrive, launches end, nodes are returned. Plans take
 * effect immediately.
 */
export class PoolWorld {
  readonly pools: readonly WorldPool[];
  readonly nodes = new Set<WorldNode>();
  /** Accepted requests that lack nodes. */
  readonly accepted = new Map<RequestId, Accepted>();
  readonly #spec: WorldSpec;
  #next = 0;

  constructor(spec: WorldSpec) {
    this.#spec = spec;
    this.pools = spec.pools.map(({ labels, limits }, i) => new WorldPool(`pool${i}`, labels, limits));
  }

  /** Adds a request to the queue of every pool that can serve it. @returns `undefined` if no pool ever can */
  arrive(labels: readonly string[], priority: number): RequestRecord | undefined {
    const id = `${priority}-${String(this.#next++).padStart(10, '0')}` as RequestId;
    const request = { ...newRequest({ labels }, 0), id };
    return this.#enqueue(request) ? request : undefined;
  }

  /** Returnable nodes, which belong to complete requests. */
  returnable(): WorldNode[] {
    const nodes = [...this.nodes];
    const unfinished = new Set(nodes.filter(({ isBuilding }) => isBuilding).map(({ request }) => request.id));
    return nodes.filter(({ request: { id } }) => !unfinished.has(id) && !this.accepted.has(id));
  }

  /**
   * Accepted requests that hold nodes although a request ahead of them waits and may need those nodes; last request first.
   * Such a request gives way after a while (ADR 0015).
   */
  inTheWay(): RequestRecord[] {
    const waiting = [...this.accepted.values()].map(({ request }) => request).sort(compareRequests);
    const holders = new Set([...this.nodes].map(({ request }) => request.id));
    return waiting.filter(({ id }, place) => place > 0 && holders.has(id)).reverse();
  }

  /** Returns the nodes of a request and puts it back in the queue. */
  giveWay(request: RequestRecord): void {
    this.accepted.delete(request.id);
    for (const node of this.nodes) if (node.request.id === request.id) this.nodes.delete(node);
    this.#enqueue(request);
  }

  /**
   * Runs planning passes of all pools until no request gets anything.
   * @param look - called before a plan takes effect
   */
  settle(look: (pass: WorldPass) => void): void {
    for (let isMoving = true; isMoving;) {
      isMoving = false;
      for (const pool of this.pools) {
        const pass = this.#plan(pool);
        look(pass);
        isMoving = this.#apply(pass) || isMoving;
      }
    }
  }

  needOf(labels: readonly string[]): Resources {
    return sumResources(labels.map((label) => this.#spec.needs[label] ?? {}));
  }

  used(pool?: WorldPool): Resources {
    return this.needOf([...this.nodes].filter((node) => !pool || node.pool === pool).map(({ label }) => label));
  }

  pausedIn(pool: WorldPool): Accepted[] {
    return [...this.accepted.values()].filter((item) => item.pool === pool);
  }

  #enqueue(request: RequestRecord): boolean {
    const verdicts = this.pools.map((pool) => ({ pool, verdict: judgeStanding(request, this.#viewOf(pool)) }));
    const declinedBy = verdicts.filter(({ verdict }) => verdict?.action === 'decline').map(({ pool }) => pool.id);
    const able = verdicts.filter(({ verdict }) => verdict === undefined);
    for (const { pool } of able) pool.queue.put({ ...request, declinedBy });
    return able.length > 0;
  }

  #plan(pool: WorldPool): WorldPass {
    const view = this.#viewOf(pool);
    const paused = this.pausedIn(pool);
    const waiting = [...pool.queue.groups()].flatMap(({ key, requests }) =>
      requests.map((request) => ({ request, group: key })),
    );
    waiting.sort((a, b) => compareRequests(a.request, b.request));
    return { pool, view, paused, waiting, plan: planPool(view, paused, pool.queue.groups()) };
  }

  #apply({ pool, plan }: WorldPass): boolean {
    for (const { request, assignment } of plan.unpause) this.#carryOut(pool, request, assignment);
    for (const { request, assignment } of plan.accept) {
      for (const { queue } of this.pools) queue.remove(request.id);
      this.#carryOut(pool, request, assignment);
    }
    return plan.unpause.length + plan.accept.length > 0;
  }

  #carryOut(pool: WorldPool, request: RequestRecord, { parts, az }: Assignment): void {
    const missing: string[] = [];
    for (const { label, source } of parts) {
      if (source.kind === 'launch') this.nodes.add({ label, pool, request, isBuilding: true });
      else missing.push(label);
    }
    if (missing.length > 0) this.accepted.set(request.id, { request, missing, az, pool });
    else this.accepted.delete(request.id);
  }

  #viewOf(pool: WorldPool): PoolView {
    const { instances = Infinity, ...maxResources } = pool.limits;
    return poolView({
      launcherId: pool.id,
      provider: 'cloud',
      pool: poolConfig(pool.name, pool.labels, { maxServers: instances, maxResources }),
      launches: true,
      pausesAtQuota: true,
      paused: this.pausedIn(pool).length > 0,
      maxConcurrency: this.#spec.maxConcurrency,
      activeLaunches: [...this.nodes].filter(({ isBuilding }) => isBuilding).length,
      registered: this.pools.map((other) => this.#registration(other)),
      foreignReservations: [...this.accepted.values()]
        .filter((item) => item.pool !== pool)
        .map(({ request, missing }) => ({ request, need: this.needOf(missing) })),
      quota: {
        need: (label) => this.needOf([label]),
        providerTotal: this.#spec.quota,
        providerUsed: this.used(),
        poolUsed: this.used(pool),
      },
    });
  }

  #registration(pool: WorldPool) {
    return newPoolComponent({
      ...{ hostname: 'h', state: 'running', version: null, launcherId: pool.id, name: pool.name },
      ...{ providerName: 'cloud', supportedLabels: pool.labels, priority: 100 },
      paused: this.pausedIn(pool).length > 0,
    });
  }
}

/** Subtracts `amount` from `rest`, for the names limited in `rest`. */
export function takeFrom(rest: Resources, amount: Resources): void {
  const known = Object.entries(amount).filter(([name]) => name in rest);
  accumulate(rest, Object.fromEntries(known), -1);
}
