import {
  backoffMs,
  compareRequests,
  type CancelTimer,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import type { Services } from '../mirror/services.js';
import { RequestQueue } from '../plan/queue.js';
import { judgeStanding } from '../plan/rules.js';
import type { PoolView } from '../plan/types.js';
import { FIRST_POOL_PAUSE_MS, SLOW_POOL_PAUSE_MS } from '../steering/first-pool.js';
import type { SteeringView } from '../steering/provider-steering.js';
import { FirstPools } from './first-pools.js';
import type { PoolPort } from './pool-port.js';
import type { PoolRefusals } from './pool-refusals.js';

/** So short that many pools that want to decline one request at the same time are done within a second or so. */
const RETRY = { firstMs: 25, longestMs: 500 };

/** What the queue is told about the rest of its pool. */
export interface PoolQueueOptions {
  readonly services: Services;
  readonly port: Pick<PoolPort, 'isRecovering'>;
  readonly view: PoolView;
  readonly refusals: PoolRefusals;
  /** The pool works on the request already. */
  readonly isHandled: (id: RequestId) => boolean;
  /** Plans again. */
  readonly wake: () => void;
}

/** The requests that wait for one pool: takes in those that are its business, and refuses those it can never serve. */
export class PoolQueue {
  readonly requests = new RequestQueue(compareRequests);
  readonly #options: PoolQueueOptions;
  readonly #first: FirstPools;
  readonly #retries = new Map<RequestId, { attempts: number; cancel: CancelTimer | undefined }>();

  constructor(options: PoolQueueOptions) {
    this.#options = options;
    this.#first = new FirstPools(options.services.clock, (id) => this.lookAgain(id));
  }

  /** The request is still to be left to its first pool. */
  isPausing(id: RequestId): boolean {
    return this.#first.isPausing(id);
  }

  /** The pool works on the request now. */
  accepted(id: RequestId): void {
    this.#first.forget(id);
    this.requests.remove(id);
    this.#options.services.events.emit('requestTaken', { pool: this.#options.view, id });
  }

  /** Judges a request that was read, changed, or may be judged differently now. */
  consider(request: RequestRecord): void {
    const { view, refusals, port, isHandled, wake, services } = this.#options;
    if (isHandled(request.id) || refusals.isWriting(request.id)) return;
    if (port.isRecovering(request.id)) return;
    if (this.#retries.get(request.id)?.cancel) return;
    if (request.state !== 'requested') this.#first.taken(request.id);
    else if (this.#isLocked(request)) return;
    else if (view.steering && view.registered.length > 1)
      this.#first.note(request.id, isBad(view.steering) ? SLOW_POOL_PAUSE_MS : FIRST_POOL_PAUSE_MS);
    const verdict = judgeStanding(request, view);
    if (verdict === undefined) {
      if (this.requests.put(request)) wake();
      const group = this.requests.groupOf(request.id) ?? '';
      services.events.emit('requestQueued', { pool: view, request, group });
      return;
    }
    if (this.requests.remove(request.id)) wake();
    services.events.emit('requestNotQueued', { pool: view, request, ...verdict });
    if (verdict.action === 'decline') refusals.decline(request, verdict.reason);
    else if (refusals.isHopeless(request)) refusals.fail(request);
  }

  /** Somebody is about to serve, decline or change it; when its lock is given up, it is looked at again. */
  #isLocked({ id }: RequestRecord): boolean {
    if (this.#options.services.mirror.requests.contenders(id) === 0) return false;
    this.#first.taken(id);
    if (this.requests.remove(id)) this.#options.wake();
    return true;
  }

  /** Looks at a request once more. */
  lookAgain(id: RequestId): void {
    const { services, view, wake } = this.#options;
    const request = services.mirror.requests.get(id);
    if (request && !view.stopping) this.consider(request);
    wake();
  }

  /** Another launcher was quicker, or holds the lock: no event may tell when that ends, so looks again soon. */
  lookAgainLater(id: RequestId, firstMs = RETRY.firstMs): void {
    const retry = this.#retries.get(id) ?? { attempts: 0, cancel: undefined };
    const { clock, random, mirror } = this.#options.services;
    const pause = backoffMs(retry.attempts++, { firstMs, longestMs: Math.max(firstMs, RETRY.longestMs) }, random);
    retry.cancel = clock.setTimer(pause, () => {
      retry.cancel = undefined;
      if (!mirror.requests.get(id)) this.#retries.delete(id);
      else this.lookAgain(id);
    });
    this.#retries.set(id, retry);
  }

  /** The next look at the request begins a new row of pauses. */
  forgetRetries(id: RequestId): void {
    this.#retries.delete(id);
  }

  /** The request's znode is gone. */
  requestGone(id: RequestId): void {
    this.#first.forget(id);
    this.#retries.get(id)?.cancel?.();
    this.#retries.delete(id);
    if (this.requests.remove(id)) this.#options.wake();
  }

  /** No request waits for the pool any more: it leaves. */
  close(): void {
    this.cancelRetries();
    this.requests.clear();
  }

  cancelRetries(): void {
    for (const retry of this.#retries.values()) retry.cancel?.();
    this.#first.close();
  }
}

/** Whether the provider is slow or fails, so that other pools with capacity get more time to take the request. */
function isBad({ isSlow, isWell }: SteeringView): boolean {
  return isSlow || !isWell;
}
