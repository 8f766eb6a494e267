import type { RequestId, RequestRecord } from '@nodepool/zk-protocol';
import { TaskSet } from '../../async/task-set.js';
import { FIRST_POOL_PAUSE_MS, SLOW_POOL_PAUSE_MS } from '../health/first-pool.js';
import { judgeStanding } from '../plan/rules.js';
import type { Reason } from '../plan/types.js';
import type { AbandonedRequests } from '../requests/abandoned.js';
import { isHopeless, refuse } from '../requests/refuse.js';
import type { RequestTools } from '../requests/request.js';
import type { Context } from '../state/context.js';
import type { PoolDemand } from '../view/pool-demand.js';
import { Retries } from './retries.js';

/** What takes requests in. */
export interface QueueTools extends RequestTools {
  readonly abandoned: AbandonedRequests;
}

/** Takes in the requests that are a pool's business, and refuses those that it can never serve. */
export class PoolQueue {
  readonly #context: Context;
  readonly #tools: QueueTools;
  readonly #demand: PoolDemand;
  /** Requests that are being declined. */
  readonly #refusing = new Set<RequestId>();
  readonly #refusals = new TaskSet();
  readonly #retries: Retries;

  constructor(context: Context, tools: QueueTools) {
    this.#context = context;
    this.#tools = tools;
    this.#demand = tools.view.demand;
    this.#retries = new Retries(context);
    this.#retries.onOver((id) => this.lookAgain(id));
    this.#demand.first.onOver((id) => this.lookAgain(id));
  }

  /** Looks at every request, e.g. after the configuration or the registered pools changed. */
  reconsiderAll(): void {
    if (!this.#tools.view.isRegistered) return;
    for (const request of this.#context.mirror.requests.values()) {
      if (request.state === 'requested') this.consider(request);
    }
    this.#demand.planSoon();
  }

  /** Looks at a request once more. */
  lookAgain(id: RequestId): void {
    const request = this.#context.mirror.requests.get(id);
    if (!request) this.#retries.forget(id);
    else if (!this.#tools.view.stopping) this.consider(request);
    this.#demand.planSoon();
  }

  /** Judges a request that was read, changed, or may be judged differently now. */
  consider(request: RequestRecord): void {
    if (this.#isHeldBack(request.id)) return;
    const { first } = this.#demand;
    const isLocked = request.state === 'requested' && this.#context.mirror.requests.contenders(request.id) > 0;
    if (request.state !== 'requested' || isLocked) first.taken(request.id);
    if (isLocked)
      this.#leaveQueue(request.id); // when its lock is given up, it is looked at again
    else this.#judge(request);
  }

  /** It is being worked on or written by this pool, or is about to be looked at again. */
  #isHeldBack(id: RequestId): boolean {
    return (
      this.#demand.atWork.has(id) ||
      this.#refusing.has(id) ||
      this.#tools.abandoned.isRecovering(id) ||
      this.#retries.isPausing(id)
    );
  }

  #judge(request: RequestRecord): void {
    const { view } = this.#tools;
    const { events } = this.#context;
    if (request.state === 'requested') this.#leaveToFirst(request.id);
    const verdict = judgeStanding(request, view);
    if (verdict) {
      this.#leaveQueue(request.id);
      events.emit('requestNotQueued', { pool: view, request, ...verdict });
      if (verdict.action === 'decline') this.refuse(request, verdict.reason);
      else if (isHopeless(this.#tools, request)) this.refuse(request);
      return;
    }
    const { waiting } = this.#demand;
    if (waiting.put(request)) this.#demand.planSoon();
    events.emit('requestQueued', { pool: view, request, group: waiting.groupOf(request.id) ?? '' });
  }

  /** Other pools with capacity get more time to take the request where the provider is slow or fails. */
  #leaveToFirst(id: RequestId): void {
    const { steering, registered } = this.#tools.view;
    if (!steering || registered.length <= 1) return;
    const isBad = steering.isSlow || !steering.isWell;
    this.#demand.first.note(id, isBad ? SLOW_POOL_PAUSE_MS : FIRST_POOL_PAUSE_MS);
  }

  #leaveQueue(id: RequestId): void {
    if (this.#demand.waiting.remove(id)) this.#demand.planSoon();
  }

  /** The request's znode is gone. */
  requestGone(id: RequestId): void {
    this.#demand.first.forget(id);
    this.#retries.forget(id);
    this.#leaveQueue(id);
  }

  /** Declines a request. @param why - missing: every pool has declined it, so that it becomes `failed` */
  refuse(request: RequestRecord, why?: Reason): void {
    const { id } = request;
    this.#refusing.add(id);
    const refusal = refuse(this.#context, this.#tools, request, why).then(
      (result) => {
        this.#refusing.delete(id);
        if (result === 'busy' || result === 'changed') this.#retries.pause(id);
        if (result === 'done') this.lookAgain(id); // meanwhile the last pool that had not declined it may have left
      },
      (error: unknown) => {
        this.#refusing.delete(id);
        this.#context.logger.warn('Could not decline a request', { requestId: id, error });
        this.#retries.pause(id);
      },
    );
    void this.#refusals.track(refusal);
  }

  /** Looks at a request again after a pause: no event may tell when what is in its way ends. @param firstMs - of the first pause */
  lookAgainLater(id: RequestId, firstMs?: number): void {
    this.#retries.pause(id, firstMs);
  }

  /** Nothing is left to do for the request here. */
  forget(id: RequestId): void {
    this.#retries.forget(id);
  }

  /** No pause of a request ends any more. */
  stopTimers(): void {
    this.#retries.stop();
    this.#demand.first.close();
  }

  /** Resolves when no request is being declined any more. */
  ended(): Promise<void> {
    return this.#refusals.ended();
  }
}
