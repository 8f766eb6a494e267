import type { NodeRecord, RequestId, RequestRecord } from '@nodepool/zk-protocol';
import { TaskSet } from '../../async/task-set.js';
import type { RequestOutcome } from '../../contract/request-outcome.js';
import { sumResources } from '../../contract/resources.js';
import type { Ledger } from '../ledger/ledger.js';
import { judgeControls } from '../plan/controls.js';
import { judgeHealth } from '../plan/health-rules.js';
import { planPool, type PausedRequest, type PoolPlan } from '../plan/plan-pool.js';
import { imagesUnavailable, judgeDecline } from '../plan/rules.js';
import type { Assignment, Reason, Reservation } from '../plan/types.js';
import { RequestWork } from '../requests/request.js';
import { serve } from '../requests/serve.js';
import type { Context } from '../state/context.js';
import { releaseNode } from '../state/expire-node.js';
import type { PoolDemand } from '../view/pool-demand.js';
import type { PoolQueue, QueueTools } from './pool-queue.js';

/** A request that has given way is not taken up again before the capacity it freed has reached others. */
const GAVE_WAY_PAUSE_MS = 30_000;

/** What the requests of a pool are served with. */
export interface PoolTools extends QueueTools {
  readonly ledger: Ledger;
}

/** Plans which of its requests a pool serves, and works on those. */
export class PoolWork {
  readonly #context: Context;
  readonly #tools: PoolTools;
  readonly #demand: PoolDemand;
  readonly #queue: PoolQueue;
  readonly #atWork = new Map<RequestId, RequestWork>();
  readonly #running = new TaskSet();

  constructor(context: Context, tools: PoolTools, queue: PoolQueue) {
    this.#context = context;
    this.#tools = tools;
    this.#queue = queue;
    this.#demand = tools.view.demand;
    this.#demand.onPlanDue(() => this.#run());
  }

  get(id: RequestId): RequestWork | undefined {
    return this.#atWork.get(id);
  }

  /** Plans now, in case a watch event was missed. @returns how many requests could be served that no event had woken */
  sweep(): number {
    if (this.#demand.isPlanDue || !this.#canPlan) return 0;
    const plan = this.#plan();
    this.#carryOut(plan);
    return plan.accept.length + plan.resume.length;
  }

  get #canPlan(): boolean {
    const { view } = this.#tools;
    const serves = !view.stopping && view.isRegistered && view.runner.running && this.#context.life.isActive;
    return serves && this.#demand.isSome;
  }

  #run(): void {
    const { view } = this.#tools;
    const { events } = this.#context;
    if (view.stopping) return;
    if (this.#canPlan) {
      const plan = this.#plan();
      this.keepFor(plan.head);
      events.emit('poolPlanned', { pool: view, waiting: plan.waiting, paused: plan.paused });
      this.#carryOut(plan);
    } else {
      this.keepFor(undefined);
      if (this.#demand.isSome) events.emit('poolRested', { pool: view });
    }
  }

  #plan(): PoolPlan {
    const { view } = this.#tools;
    const paused = this.#demand.paused().filter((item) => this.#isServed(item));
    return planPool(view, paused, this.#demand.waiting.groups());
  }

  /** An accepted request that the pool can no longer hold, or that wants what it no longer has, is put back. */
  #isServed({ request }: PausedRequest): boolean {
    const { view } = this.#tools;
    const isServed = !judgeDecline(request, view) && !judgeControls(request, view) && view.maxConcurrency !== 0;
    if (!isServed) this.#atWork.get(request.id)?.tell('hopeless');
    return isServed;
  }

  #carryOut(plan: PoolPlan): void {
    for (const { request, assignment } of plan.resume) this.#resume(request.id, assignment);
    for (const { request, assignment } of plan.accept) this.#accept(request, assignment);
    for (const { request, reason } of plan.decline) this.#decline(request, reason);
    if (plan.release) void releaseNode(this.#context, plan.release, 'a request waits for the capacity it takes');
  }

  /** The first request that waits for capacity of the provider; the pools of the provider keep that capacity for it. */
  keepFor(head: Reservation | undefined): void {
    const { view, ledger } = this.#tools;
    const { provider, pool } = view;
    if (ledger.reservations.setHead(provider, pool.name, head)) {
      this.#context.events.emit('capacityFreed', { provider, pool: pool.name });
    }
  }

  // --- requests at work -------------------------------------------------------------------------------------------

  #accept(request: RequestRecord, assignment: Assignment): void {
    const { view, abandoned } = this.#tools;
    if (abandoned.isRecovering(request.id)) return; // it keeps its place until it is looked at again
    if (judgeHealth(request, view) || (view.steering?.isSlow && view.leftTo(request))) {
      this.#demand.waiting.remove(request.id); // another one accepted in this pass is the probe
    } else if (view.drivers.of(request).imagesAvailable()) {
      this.#work(request, assignment);
    } else {
      this.#decline(request, imagesUnavailable(request.labels));
    }
  }

  #decline(request: RequestRecord, reason: Reason): void {
    this.#demand.waiting.remove(request.id);
    this.#queue.refuse(request, reason);
  }

  /** Begins to work on a request with the nodes of the assignment, unless one of them is no longer free. */
  #work(request: RequestRecord, assignment: Assignment): void {
    const { view, ledger } = this.#tools;
    const { id } = request;
    const work = new RequestWork(this.#context, this.#tools, request);
    if (!this.#claim(assignment, work)) return;
    this.#atWork.set(id, work);
    this.#demand.atWork.set(id, work);
    const needs = request.labels.map((label) => view.needOf(label));
    ledger.begin(request, needs);
    void this.#running.track(serve(work, assignment).then((outcome) => this.#ended(work, outcome)));
    this.#demand.first.forget(id);
    this.#demand.waiting.remove(id);
    this.#context.events.emit('requestTaken', { pool: view, id });
  }

  /** Gives more nodes to a request that waits for capacity. */
  #resume(id: RequestId, assignment: Assignment): void {
    const work = this.#atWork.get(id);
    if (work && this.#claim(assignment, work)) work.resume(assignment);
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
      this.#demand.planSoon();
      return false;
    }
    return true;
  }

  #ended(work: RequestWork, outcome: RequestOutcome): void {
    const { view, ledger, abandoned } = this.#tools;
    const { id } = work.request;
    this.#atWork.delete(id);
    this.#demand.atWork.delete(id);
    ledger.end(id);
    const { provider, pool } = view;
    this.#context.events.emit('requestEnded', { outcome, request: work.request, provider, pool: pool.name });
    this.#context.events.emit('waitChanged', { provider, pool: pool.name });
    if (outcome === 'abandoned') abandoned.recover(id, work.epoch);
    if (outcome === 'fulfilled' || outcome === 'gone') this.#queue.forget(id);
    else if (outcome === 'busy') this.#queue.lookAgainLater(id);
    else if (outcome === 'gave-way') this.#queue.lookAgainLater(id, GAVE_WAY_PAUSE_MS);
    else this.#queue.lookAgain(id);
  }

  /** Accepted requests wait for more or less than before: the pools of the provider keep that for them. */
  waitChanged(): void {
    const { view, ledger } = this.#tools;
    const { provider, pool } = view;
    const before = this.#demand.pausedCount;
    const reservations = this.#demand.countPaused().map(({ request, missing }) => ({
      request,
      need: sumResources(missing.map((label) => view.needOf(label))),
    }));
    ledger.reservations.set(provider, pool.name, reservations);
    if (reservations.length < before) this.#context.events.emit('capacityFreed', { provider, pool: pool.name });
    this.#demand.planSoon();
  }

  // --- end --------------------------------------------------------------------------------------------------------

  /** Resolves when the work on all requests has ended; those that wait for capacity are put back. */
  async drain(): Promise<void> {
    for (const work of this.#atWork.values()) work.tell('draining');
    await this.#running.ended();
  }

  /** Ends all work without touching anything. */
  abandon(cause: Error): void {
    for (const work of this.#atWork.values()) work.abandon(cause);
  }
}
