import { steadyNow, type NodeRecord, type RequestId, type RequestRecord } from '@nodepool/zk-protocol';
import { TaskSet } from '../../async/task-set.js';
import { FIRST_POOL_PAUSE_MS, SLOW_POOL_PAUSE_MS } from '../plan/first-pool.js';
import { MIN_READY_REQUESTOR } from '../plan/candidates.js';
import { judgeStanding } from '../plan/rules.js';
import type { Reason } from '../plan/types.js';
import type { LostRequests } from '../requests/lost-requests.js';
import { UNWANTED_AFTER_MS } from '../requests/unwanted-launches.js';
import { isHopeless, refuse } from '../requests/refuse.js';
import type { RequestTools, RequestWork } from '../requests/request.js';
import type { Context } from '../state/context.js';
import type { Launch } from '../state/events.js';
import { Retries } from '../state/retries.js';
import type { PoolDemand } from '../view/pool-demand.js';
import type { LivePoolView } from '../view/pool-view.js';

/** Short, so that many pools that decline one request at the same time are done within about a second. */
const RETRY = { firstMs: 25, longestMs: 500 };

/** The objects that the queue of a pool uses. */
export interface QueueTools extends RequestTools {
  readonly view: LivePoolView<RequestWork>;
  readonly lost: LostRequests;
}

/** Queues the requests that a pool may serve, and declines those that it can never serve. */
export class PoolQueue {
  readonly #context: Context;
  readonly #tools: QueueTools;
  readonly #demand: PoolDemand<RequestWork>;
  /** Requests that are being declined. */
  readonly #refusing = new Set<RequestId>();
  readonly #refusals = new TaskSet();
  /** Requests to consider again after a pause, as no event may announce that they can be. */
  readonly #retries: Retries<RequestId>;
  #isPlanDue = false;

  constructor(context: Context, tools: QueueTools) {
    this.#context = context;
    this.#tools = tools;
    this.#demand = tools.view.demand;
    this.#retries = new Retries(context);
  }

  /** Whether a planning pass is due in this turn. */
  get isPlanDue(): boolean {
    return this.#isPlanDue;
  }

  /** Emits `planDue` at the end of the turn, once for all its changes. */
  planSoon(): void {
    if (this.#isPlanDue) return;
    this.#isPlanDue = true;
    queueMicrotask(() => {
      this.#isPlanDue = false;
      this.#context.events.emit('planDue', { pool: this.#tools.view });
    });
  }

  // --- events -----------------------------------------------------------------------------------------------------

  requestChanged(before: RequestRecord | undefined, after: RequestRecord | undefined): void {
    const id = (after ?? before)?.id;
    if (id === undefined) return;
    const { view } = this.#tools;
    const work = this.#demand.atWork.get(id);
    if (work) {
      if (!after) this.#withdrawn(work);
      return;
    }
    // capacity may have been reserved for the request
    const hasLeft = before?.state === 'pending' && after?.state !== 'pending';
    if (hasLeft && view.launches) this.planIfNeeded();
    if (!after) this.#requestGone(id);
    else if (view.isRegistered) this.consider(after);
    else this.#leaveQueue(id); // once the pool is registered again, all requests are considered
  }

  #withdrawn(work: RequestWork): void {
    const { clock } = this.#context;
    work.requestGone();
    // a request for a free node ends with its launcher: the node still counts for others
    if (work.request.requestor === MIN_READY_REQUESTOR) return;
    this.#demand.withdrawn.set(work, steadyNow(clock));
    clock.setTimer(UNWANTED_AFTER_MS, () => this.#demand.withdrawn.has(work) && this.planSoon());
  }

  /** The mirror shows all writes that were made under a lock before its release. */
  requestLockChanged(request: RequestRecord): void {
    if (this.#tools.view.isRegistered && !this.#demand.atWork.has(request.id)) this.consider(request);
  }

  /** A node of the provider is free: deleting one of another pool may free capacity for this one. */
  nodeFree({ pool }: NodeRecord): void {
    const { view } = this.#tools;
    if (pool === view.pool.name || view.launches) this.planIfNeeded();
  }

  /** A node of the provider is gone. */
  nodeGone(): void {
    if (this.#tools.view.launches) this.planIfNeeded();
  }

  /** A launch of the provider has ended. If the number of launches is limited, those of other pools matter as well. */
  launchEnded({ pool }: Launch): void {
    const { maxConcurrency, launchLimit, pool: own } = this.#tools.view;
    const isLimited = maxConcurrency >= 0 || launchLimit < Infinity;
    if (isLimited || pool === own.name) this.planSoon();
  }

  /** Plans again if a request waits. */
  planIfNeeded(): void {
    if (this.#demand.isSome) this.planSoon();
  }

  // --- requests ---------------------------------------------------------------------------------------------------

  /** Considers every request, e.g. after the configuration or the registered pools changed. */
  reconsiderAll(): void {
    if (!this.#tools.view.isRegistered) return;
    for (const request of this.#context.mirror.requests.values()) {
      if (request.state === 'requested') this.consider(request);
    }
    this.planSoon();
  }

  /** Considers a request again. */
  readonly reconsider = (id: RequestId): void => {
    const request = this.#context.mirror.requests.get(id);
    if (!request) this.#retries.forget(id);
    else if (!this.#tools.view.stopping) this.consider(request);
    this.planSoon();
  };

  /** Considers a request that was read or changed, or that may be judged differently now. */
  consider(request: RequestRecord): void {
    if (this.#isHeldBack(request.id)) return;
    const { first } = this.#demand;
    const isLocked = request.state === 'requested' && this.#context.mirror.requests.contenders(request.id) > 0;
    if (request.state !== 'requested' || isLocked) first.taken(request.id);
    if (isLocked)
      this.#leaveQueue(request.id); // the release of the lock leads back here
    else this.#judge(request);
  }

  /** Whether this pool works on the request or writes it, or will consider it again anyway. */
  #isHeldBack(id: RequestId): boolean {
    return (
      this.#demand.atWork.has(id) ||
      this.#refusing.has(id) ||
      this.#tools.lost.isRecovering(id) ||
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
      events.emit('requestJudged', { pool: view, request, why: verdict });
      if (verdict.action === 'decline') this.refuse(request, verdict.reason);
      else if (isHopeless(this.#tools, request)) this.refuse(request);
      return;
    }
    const { waiting } = this.#demand;
    if (waiting.put(request)) this.planSoon();
    events.emit('requestJudged', { pool: view, request, group: waiting.groupOf(request.id) ?? '' });
  }

  /** Leaves the request to its first pool for a moment, or for longer while the provider is slow or fails. */
  #leaveToFirst(id: RequestId): void {
    const { steering, registered } = this.#tools.view;
    if (!steering || registered.length <= 1) return;
    const isBad = steering.isSlow || !steering.isWell;
    this.#demand.first.note(id, isBad ? SLOW_POOL_PAUSE_MS : FIRST_POOL_PAUSE_MS, this.reconsider);
  }

  #leaveQueue(id: RequestId): void {
    if (this.#demand.waiting.remove(id)) this.planSoon();
  }

  /** The request's znode was deleted. */
  #requestGone(id: RequestId): void {
    this.#demand.first.forget(id);
    this.#retries.forget(id);
    this.#leaveQueue(id);
  }

  /** Declines a request. @param why - omit if every pool has declined it, so that it becomes `failed` */
  refuse(request: RequestRecord, why?: Reason): void {
    const { id } = request;
    this.#refusing.add(id);
    const refusal = refuse(this.#context, this.#tools, request, why).then(
      (result) => {
        this.#refusing.delete(id);
        if (result === 'busy' || result === 'changed') this.scheduleCheck(id);
        if (result === 'done') this.reconsider(id); // the last pool that had not declined it may have left meanwhile
      },
      (error: unknown) => {
        this.#refusing.delete(id);
        this.#context.logger.warn('Could not decline a request', { requestId: id, error });
        this.scheduleCheck(id);
      },
    );
    void this.#refusals.track(refusal);
  }

  /** Considers a request again after a pause. @param firstMs - length of its first pause */
  scheduleCheck(id: RequestId, firstMs = RETRY.firstMs): void {
    const longestMs = Math.max(firstMs, RETRY.longestMs);
    this.#retries.schedule(id, { firstMs, longestMs }, () => this.reconsider(id));
  }

  /** The work on the request is done: it will not be considered again. */
  forget(id: RequestId): void {
    this.#retries.forget(id);
  }

  /** Cancels all pauses. */
  stopTimers(): void {
    this.#retries.stop();
    this.#demand.first.close();
  }

  /** Resolves when no request is being declined any more. */
  ended(): Promise<void> {
    return this.#refusals.ended();
  }
}
