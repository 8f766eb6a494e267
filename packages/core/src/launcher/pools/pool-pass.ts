import { compareRequests, type NodeRecord, type RequestId, type RequestRecord } from '@nodepool/zk-protocol';
import { judgeControls } from '../plan/controls.js';
import { planPool, type PausedRequest, type PoolPlan } from '../plan/plan-pool.js';
import type { RequestQueue } from '../plan/queue.js';
import { judgeDecline } from '../plan/rules.js';
import type { Assignment, PoolView, Reason, Reservation } from '../plan/types.js';

/** Who carries out what a planning pass decides. */
export interface PassPort {
  /** The pool serves requests at the moment, and there are some. */
  canPlan(): boolean;
  /** What a pass has found, before it is carried out; `undefined`: the pool plans nothing at the moment. */
  planned(plan: PoolPlan | undefined): void;
  /** Accepted requests that wait for capacity. */
  pausedRequests(): PausedRequest[];
  accept(request: RequestRecord, assignment: Assignment): void;
  resume(request: RequestRecord, assignment: Assignment): void;
  decline(request: RequestRecord, reason: Reason): void;
  /** Nothing the accepted request waits for will ever come. */
  giveUp(id: RequestId): void;
  /** Deletes a free node if it still is one. */
  release(node: NodeRecord, why: string): void;
  /** The first request that waits for capacity of the provider; the pools of the provider keep that capacity for it. */
  setHead(head: Reservation | undefined): void;
}

/** The planning passes of one pool: looks at what waits, decides, and has the decisions carried out. */
export class PoolPass {
  readonly #view: PoolView;
  readonly #queue: RequestQueue;
  readonly #port: PassPort;
  #scheduled = false;

  constructor(view: PoolView, queue: RequestQueue, port: PassPort) {
    this.#view = view;
    this.#queue = queue;
    this.#port = port;
  }

  /** Plans again, once for everything that happens in this turn. */
  wake(): void {
    if (this.#scheduled || this.#view.stopping) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#run();
    });
  }

  /**
   * Plans now, in case a watch event was missed.
   * @returns how many requests could be served that no event had woken
   */
  sweep(): number {
    if (this.#scheduled || !this.#port.canPlan()) return 0;
    const plan = this.#plan();
    this.#carryOut(plan);
    return plan.accept.length + plan.resume.length;
  }

  #run(): void {
    if (!this.#port.canPlan()) {
      this.#port.setHead(undefined);
      this.#port.planned(undefined);
      return;
    }
    const plan = this.#plan();
    this.#port.setHead(plan.head);
    this.#port.planned(plan);
    this.#carryOut(plan);
  }

  /** Accepted requests that the pool can no longer hold, or that want what it no longer has, are left out and put back. */
  #plan(): PoolPlan {
    const paused = this.#port.pausedRequests().filter(({ request }) => {
      const isServed = !judgeDecline(request, this.#view) && !judgeControls(request, this.#view);
      if (isServed && this.#view.maxConcurrency !== 0) return true;
      this.#port.giveUp(request.id);
      return false;
    });
    return planPool(this.#view, paused, this.#queue.groups(), compareRequests);
  }

  #carryOut(plan: PoolPlan): void {
    for (const { request, assignment } of plan.resume) this.#port.resume(request, assignment);
    for (const { request, assignment } of plan.accept) this.#port.accept(request, assignment);
    for (const { request, reason } of plan.decline) this.#port.decline(request, reason);
    if (plan.release) this.#port.release(plan.release, 'a request waits for the capacity it takes');
  }
}
