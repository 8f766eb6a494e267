import { steadyNow, type NodeId, type NodeRecord, type RequestId, type RequestRecord } from '@nodepool/zk-protocol';
import { TaskSet } from '../../async/task-set.js';
import type { RequestOutcome } from '../../contract/request-outcome.js';
import { findOverrun, subtractFromLimit, sumResources } from '../../contract/resources.js';
import type { Ledger } from '../ledger/ledger.js';
import { judgeControls } from '../plan/controls.js';
import { judgeFirst, judgeHealth } from '../plan/health-rules.js';
import { planPool, type PausedRequest, type PoolPlan } from '../plan/plan-pool.js';
import { imagesUnavailable, isPassing, judgeDecline, waitsForOthers } from '../plan/rules.js';
import type { Assignment, PoolView, Reason, Reservation, Verdict } from '../plan/types.js';
import { RequestWork } from '../requests/request.js';
import { serve } from '../requests/stages.js';
import { endUnwanted } from '../requests/unwanted-launches.js';
import type { Context } from '../state/context.js';
import { tryToExpire } from '../state/expire-node.js';
import type { PoolDemand } from '../view/pool-demand.js';
import type { PoolQueue, QueueTools } from './pool-queue.js';

/** How long a request that was lost keeps its nodes for what it lacks while the pool cannot serve it for now. */
const LOST_STAYS_MS = 300_000;
/** Pause after a request gave way, in which other requests get the capacity that it freed. */
const GAVE_WAY_PAUSE_MS = 30_000;

/** The objects that the work of a pool uses. */
export interface PoolTools extends QueueTools {
  readonly ledger: Ledger;
}

/** Plans which of its requests a pool serves, and works on those. */
export class PoolWork {
  readonly #context: Context;
  readonly #tools: PoolTools;
  readonly #demand: PoolDemand<RequestWork>;
  readonly #queue: PoolQueue;
  readonly #running = new TaskSet();

  constructor(context: Context, tools: PoolTools, queue: PoolQueue) {
    this.#context = context;
    this.#tools = tools;
    this.#queue = queue;
    this.#demand = tools.view.demand;
  }

  /** Plans now, in case a watch event was missed. @returns how many requests it serves */
  sweep(): number {
    if (this.#queue.isPlanDue || !this.#canPlan) return 0;
    const plan = this.#plan();
    this.#carryOut(plan);
    return plan.accept.length + plan.unpause.length;
  }

  get #canPlan(): boolean {
    const { view } = this.#tools;
    const serves = !view.stopping && view.isRegistered && view.runner.running && this.#context.life.isActive;
    return serves && this.#demand.isSome;
  }

  /** Plans, and carries out the plan. */
  run(): void {
    const { view } = this.#tools;
    const { events } = this.#context;
    if (view.stopping) return;
    endUnwanted(this.#demand, steadyNow(this.#context.clock));
    if (this.#canPlan) {
      const plan = this.#plan();
      this.keepFor(plan.head);
      events.emit('poolPlanned', { pool: view, waits: plan });
      this.#carryOut(plan);
    } else {
      this.keepFor(undefined);
      if (this.#demand.isSome) events.emit('poolPlanned', { pool: view, waits: undefined });
    }
  }

  #plan(): PoolPlan {
    const { view } = this.#tools;
    const paused = this.#demand.paused().filter((item) => this.#isServed(item));
    return planPool(view, paused, this.#demand.waiting.groups());
  }

  /** Whether the pool can still serve an accepted request; if not, the request is returned to the queue. */
  #isServed({ request }: PausedRequest): boolean {
    const { view } = this.#tools;
    const work = this.#demand.atWork.get(request.id);
    const declined = judgeDecline(request, view)?.reason;
    const isNever = (declined && !isPassing(declined)) || judgeControls(request, view) || view.maxConcurrency === 0;
    // what only others prevent waits in the queue, where it keeps no node from smaller requests
    const isNotNow = declined ?? (waitsForOthers(request, view) || (work?.wasLost && exceedsTenant(request, view)));
    if (!isNever && !isNotNow) return true;
    const mayWait = work?.wasLost && steadyNow(this.#context.clock) - work.sinceMs < LOST_STAYS_MS;
    if (isNever || !mayWait) work?.notify('hopeless');
    return false;
  }

  #carryOut(plan: PoolPlan): void {
    for (const { request, assignment } of plan.unpause) this.#unpause(request.id, assignment);
    for (const { request, assignment } of plan.accept) this.#accept(request, assignment);
    for (const { request, reason } of plan.decline) this.#decline(request, reason);
    if (plan.release) void tryToExpire(this.#context, plan.release, 'a request waits for the capacity it takes');
  }

  /** Reserves capacity of the provider for the first request that waits for it. */
  keepFor(head: Reservation | undefined): void {
    const { view, ledger } = this.#tools;
    const { provider, pool } = view;
    if (ledger.reserveHead(provider, pool.name, head)) {
      this.#context.events.emit('capacityFreed', { provider, pool: pool.name });
    }
  }

  // --- requests at work -------------------------------------------------------------------------------------------

  #accept(request: RequestRecord, assignment: Assignment): void {
    const { view, lost } = this.#tools;
    if (lost.isRecovering(request.id)) return; // it keeps its place until it is considered again
    const verdict = judgeHealth(request, view) ?? (view.steering?.isSlow ? judgeFirst(request, view) : undefined);
    if (verdict) {
      this.#leaveQueue(request, verdict); // another request accepted in this pass is the probe
    } else if (view.handlerOf(request).imagesAvailable()) {
      this.begin(request, assignment);
    } else {
      this.#decline(request, imagesUnavailable(request.labels));
    }
  }

  #decline(request: RequestRecord, reason: Reason): void {
    this.#leaveQueue(request, { action: 'decline', reason });
    this.#queue.refuse(request, reason);
  }

  #leaveQueue(request: RequestRecord, why: Verdict): void {
    this.#demand.waiting.remove(request.id);
    this.#context.events.emit('requestJudged', { pool: this.#tools.view, request, why });
  }

  /** Starts the work on a request, unless a node of the assignment is not free any more; those of a lost request are its own. */
  begin(request: RequestRecord, assignment: Assignment): void {
    const { view, ledger } = this.#tools;
    const { id } = request;
    const work = new RequestWork(this.#context, this.#tools, request);
    if (!work.wasLost && !this.#claim(assignment, work)) return;
    if (work.wasLost) this.#context.clock.setTimer(LOST_STAYS_MS, () => this.#queue.planIfNeeded());
    this.#demand.atWork.set(id, work);
    const needs = request.labels.map((label) => view.needOf(label));
    ledger.begin(request, needs);
    void this.#running.track(serve(work, assignment).then((outcome) => this.#ended(work, outcome)));
    this.#demand.first.forget(id);
    this.#demand.waiting.remove(id);
    this.#context.events.emit('requestTaken', { pool: view, request });
  }

  /** Gives nodes to a request that waits for capacity. */
  #unpause(id: RequestId, assignment: Assignment): void {
    const work = this.#demand.atWork.get(id);
    if (work && this.#claim(assignment, work)) work.unpause(assignment);
  }

  #claim(assignment: Assignment, by: RequestWork): boolean {
    const { mirror } = this.#context;
    const claimed: NodeRecord[] = [];
    for (const { source } of assignment.parts) {
      if (source.kind !== 'node') continue;
      if (mirror.claim(source.node.id, by)) {
        claimed.push(source.node);
        continue;
      }
      for (const node of claimed) mirror.unclaim(node.id, by);
      this.#queue.planSoon();
      return false;
    }
    return true;
  }

  #ended(work: RequestWork, outcome: RequestOutcome): void {
    const { view, ledger, lost } = this.#tools;
    const { id } = work.request;
    this.#demand.atWork.delete(id);
    this.#demand.withdrawn.delete(work);
    ledger.end(id);
    const { provider, pool } = view;
    this.#context.events.emit('requestEnded', { outcome, request: work.request, provider, pool: pool.name });
    this.#queue.planSoon();
    if (outcome === 'abandoned') lost.recover(id, work.epoch);
    if (outcome === 'fulfilled' || outcome === 'gone') this.#queue.forget(id);
    else if (outcome === 'busy') this.#queue.scheduleCheck(id);
    else if (outcome === 'gave-way') this.#queue.scheduleCheck(id, GAVE_WAY_PAUSE_MS);
    else this.#queue.reconsider(id);
  }

  /** The machine of a node cannot be used any more. */
  nodeUnusable(id: NodeId, why: string): void {
    const request = this.#context.mirror.nodes.get(id)?.allocatedTo;
    const work = request ? this.#demand.atWork.get(request) : undefined;
    work?.parts.setUnusable(id, why);
    work?.wake();
  }

  /** Accepted requests wait for more or less than before: updates the reservations for them. */
  waitChanged(): void {
    const { view, ledger } = this.#tools;
    const { provider, pool } = view;
    const before = this.#demand.pausedCount;
    const reservations = this.#demand.countPaused().map(({ request, missing }) => ({
      request,
      need: sumResources(missing.map((label) => view.needOf(label))),
    }));
    ledger.reserve(provider, pool.name, reservations);
    if (reservations.length < before) this.#context.events.emit('capacityFreed', { provider, pool: pool.name });
    this.#queue.planSoon();
  }

  // --- end --------------------------------------------------------------------------------------------------------

  /** Resolves when the work on all requests has ended; those that wait for capacity are returned to the queue. */
  async drain(): Promise<void> {
    for (const work of this.#demand.atWork.values()) work.notify('draining');
    await this.#running.ended();
  }

  /** Ends all work without any further write. */
  abandon(cause: Error): void {
    for (const work of this.#demand.atWork.values()) work.abandon(cause);
  }
}

/** Whether nodes and promises of the request's tenant exceed the limit of that. */
export function exceedsTenant(
  { tenantName }: Pick<RequestRecord, 'tenantName'>,
  view: Pick<PoolView, 'tenantLimit' | 'tenantUsed'>,
): boolean {
  const limit = tenantName === null ? undefined : view.tenantLimit(tenantName);
  if (tenantName === null || !limit) return false;
  return findOverrun(subtractFromLimit(limit, view.tenantUsed(tenantName))) !== undefined;
}
