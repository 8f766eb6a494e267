import { compareRequests, type NodeRecord, type RequestRecord } from '@nodepool/zk-protocol';
import { Budget, type Demand } from './budget.js';
import type { RequestGroup } from './queue.js';
import { MIN_READY_REQUESTOR, reason } from './candidates.js';
import { countOf, mayHaveCapacityElsewhere, waitsForOthers } from './rules.js';
import type { Assignment, PoolView, Reason, Reservation, RuleName } from './types.js';

/** An accepted request that waits for capacity, with its missing labels. */
export interface PausedRequest {
  readonly request: RequestRecord;
  readonly missing: readonly string[];
  readonly az: string | null;
}

/** The decisions of one planning pass, in handling order. */
export interface PoolPlan {
  readonly accept: readonly { request: RequestRecord; assignment: Assignment }[];
  /** Accepted requests that can now get some or all of their missing nodes. */
  readonly unpause: readonly { request: RequestRecord; assignment: Assignment }[];
  /** Why requests that are or will be accepted still wait. */
  readonly paused: readonly { request: RequestRecord; reason: Reason }[];
  /** Requests for free nodes: they are declined rather than left waiting for capacity. */
  readonly decline: readonly { request: RequestRecord; reason: Reason }[];
  /** An unused ready node to delete, because a request waits for its capacity. */
  readonly release: NodeRecord | undefined;
  /**
   * The first request that waits for the provider although the pool has capacity. The provider's other pools reserve
   * provider capacity for it.
   */
  readonly head: Reservation | undefined;
  /** Why the first request of each group waits. */
  readonly waiting: readonly { request: RequestRecord; group: string; reason: Reason }[];
}

/**
 * Decides what a pool does with its waiting requests, in handling order. If a request does not fit, the nodes it could get
 * and the capacity it lacks are reserved, and later requests are served from the remaining capacity. So no request is
 * overtaken on a resource that it needs, and none waits for a resource that it does not need.
 *
 * Only the first request of each group is examined: requests of one group ask for the same.
 */
export function planPool(view: PoolView, paused: readonly PausedRequest[], groups: Iterable<RequestGroup>): PoolPlan {
  const pass = new PlanningPass(view);
  pass.serveAccepted(paused);
  const heads = headsOf(groups);
  for (let head = heads.pop(); head !== undefined; head = heads.pop()) {
    const { group, index, request } = head;
    pass.keepForOthersBefore(request);
    if (pass.offer(request, group.key)) insertHead(heads, group, index + 1);
  }
  return pass.finish();
}

class PlanningPass {
  readonly #plan = {
    accept: [] as { request: RequestRecord; assignment: Assignment }[],
    unpause: [] as { request: RequestRecord; assignment: Assignment }[],
    paused: [] as { request: RequestRecord; reason: Reason }[],
    decline: [] as { request: RequestRecord; reason: Reason }[],
    waiting: [] as { request: RequestRecord; group: string; reason: Reason }[],
  };
  readonly #view: PoolView;
  readonly #budget: Budget;
  #paused: boolean;
  #head: Reservation | undefined;
  #elsewhere: Reservation[] | undefined;
  /** A request waits for capacity in the pool or the provider. */
  #short = false;

  constructor(view: PoolView) {
    this.#view = view;
    this.#budget = new Budget(view);
    this.#paused = view.paused;
  }

  /**
   * Serves accepted requests before all others. Those of the provider's other pools and of other launchers take their place
   * in the same order.
   */
  serveAccepted(paused: readonly PausedRequest[]): void {
    const foreign = [...this.#view.foreignReservations].sort((a, b) => compareRequests(a.request, b.request));
    for (const item of [...paused].sort((a, b) => compareRequests(a.request, b.request))) {
      for (let next = foreign[0]; next && compareRequests(next.request, item.request) < 0; next = foreign[0]) {
        this.#budget.reserve(next);
        foreign.shift();
      }
      this.#serve(item);
    }
    for (const reservation of foreign) this.#budget.reserve(reservation);
  }

  finish(): PoolPlan {
    const release = this.#short && !this.#view.capacityIsComing ? this.#budget.findSpare() : undefined;
    return { ...this.#plan, release, head: this.#head };
  }

  #serve(item: PausedRequest): void {
    const demand: Demand = { request: item.request, labels: item.missing, az: item.az, accepted: true };
    const { assignment, shortage, rule } = this.#budget.fit(demand);
    this.#short ||= rule === 'pool-full';
    if (shortage) this.#plan.paused.push({ request: item.request, reason: shortage });
    this.#budget.take(demand, assignment);
    if (assignment.parts.some((part) => part.source.kind !== 'wait')) {
      this.#plan.unpause.push({ request: item.request, assignment });
    }
  }

  /** Reserves provider capacity for requests of the provider's other pools that come before this one. */
  keepForOthersBefore(request: RequestRecord): void {
    const elsewhere = (this.#elsewhere ??= [...(this.#view.waitingElsewhere ?? [])].sort((a, b) =>
      compareRequests(a.request, b.request),
    ));
    for (let next = elsewhere[0]; next && compareRequests(next.request, request) < 0; next = elsewhere[0]) {
      this.#budget.reserve(next);
      elsewhere.shift();
    }
  }

  /** @returns whether to examine the next request of the group */
  offer(request: RequestRecord, group: string): boolean {
    const demand: Demand = { request, labels: request.labels, az: null, accepted: false };
    const { assignment, shortage, rule, isProviderShort, isOverQuota } = this.#budget.fit(demand);
    if (!shortage) {
      this.#budget.take(demand, assignment);
      this.#plan.accept.push({ request, assignment });
      return true;
    }
    const isMinReady = request.requestor === MIN_READY_REQUESTOR;
    if (isMinReady && isOverQuota) {
      this.#plan.decline.push({ request, reason: shortage });
      return true;
    }
    const isLimited = rule === 'limited-by-operator';
    if (isLimited) this.#budget.keepOrdered(demand);
    if (isMinReady || rule === 'tenant-quota' || isLimited) {
      this.#plan.waiting.push({ request, group, reason: shortage });
      return false;
    }
    if (!this.#isWithinReach(request)) {
      this.#plan.waiting.push({ request, group, reason: shortage });
      return false;
    }
    this.#budget.take(demand, assignment);
    const isBehind = this.#short;
    this.#short ||= rule === 'pool-full';
    if (this.#mayPause(request, rule)) {
      this.#paused = true;
      this.#plan.paused.push({ request, reason: shortage });
      this.#plan.accept.push({ request, assignment });
      return true;
    }
    if (isProviderShort) this.#head ??= { request, need: this.#budget.needOfRest(assignment) };
    if (isBehind) this.#budget.holdBack(assignment);
    this.#plan.waiting.push({ request, group, reason: shortage });
    return false;
  }

  /**
   * Whether returned nodes could serve the request. A request that waits for an absent host, or for others to leave capacity of the
   * cloud, reserves nothing: that might never happen.
   */
  #isWithinReach(request: RequestRecord): boolean {
    if (waitsForOthers(request, this.#view)) return false;
    if (this.#view.launches || !this.#view.presentNodes) return true;
    for (const label of new Set(request.labels)) {
      if (this.#view.presentNodes(label) < countOf(request.labels, label)) return false;
    }
    return true;
  }

  #mayPause(request: RequestRecord, rule: RuleName | undefined): boolean {
    const { pausesAtQuota, maxConcurrency } = this.#view;
    if (!pausesAtQuota || this.#paused) return false;
    // a request that needs more launches than max-concurrency must start with a part of them, or it could never be served
    if (rule === 'max-concurrency') return request.labels.length > maxConcurrency;
    return rule === 'pool-full' && !mayHaveCapacityElsewhere(request, this.#view);
  }
}

/** The request of a group that a planning pass considers next. */
interface GroupHead {
  readonly group: RequestGroup;
  readonly index: number;
  readonly request: RequestRecord;
}

/** The first request of each group, the next one in handling order last. */
function headsOf(groups: Iterable<RequestGroup>): GroupHead[] {
  const heads: GroupHead[] = [];
  for (const group of groups) {
    const [request] = group.requests;
    if (request !== undefined) heads.push({ group, index: 0, request });
  }
  return heads.sort((a, b) => compareRequests(b.request, a.request));
}

/** Inserts the next request of a group, if it has one. A linear search, as there are few groups. */
function insertHead(heads: GroupHead[], group: RequestGroup, index: number): void {
  const request = group.requests[index];
  if (request === undefined) return;
  let at = heads.length;
  while (at > 0) {
    const before = heads[at - 1];
    if (before === undefined || compareRequests(before.request, request) >= 0) break;
    at--;
  }
  heads.splice(at, 0, { group, index, request });
}

/** The reason for a request that was not examined because an equal one ahead of it waits. */
export function behindReason(ahead: Reason, position: number): Reason {
  const others = position === 1 ? 'another request' : `${position} requests`;
  return reason(ahead.rule, `behind ${others}; the first that wants the same waits: ${ahead.text}`, ahead.remedy, {
    ...ahead.details,
    position,
  });
}
