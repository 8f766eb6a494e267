import type { Clock, NodeRecord, RequestId, RequestRecord } from '@nodepool/zk-protocol';
import type { PausedRequest } from '../plan/plan-pool.js';
import { RequestQueue } from '../plan/queue.js';
import { FirstPoolPauses } from './first-pool-pauses.js';

/** A request that a pool works on, as its view needs it. */
export interface RequestAtWork {
  /** As last written or read. */
  readonly request: RequestRecord;
  /** Its missing labels while it waits for capacity; `undefined` while it does not. */
  readonly paused: PausedRequest | undefined;
  /** Whether the driver accepts a node for the request. */
  acceptsNode(node: NodeRecord): boolean;
}

/** The requests of one pool: those in its queue, and those it works on. */
export class PoolDemand<Work extends RequestAtWork = RequestAtWork> {
  readonly waiting = new RequestQueue();
  readonly atWork = new Map<RequestId, Work>();
  /** Work on requests that have been withdrawn, and when they were, in steady time. */
  readonly withdrawn = new Map<Work, number>();
  /** Which of the waiting requests are left to another pool for a moment. */
  readonly first: FirstPoolPauses;
  #pausedCount = 0;

  constructor(clock: Clock) {
    this.first = new FirstPoolPauses(clock);
  }

  /** Whether a request is in the queue, or waits for capacity. */
  get isSome(): boolean {
    return this.waiting.size > 0 || this.#pausedCount > 0;
  }

  /** Number of accepted requests that wait for capacity, as last counted. */
  get pausedCount(): number {
    return this.#pausedCount;
  }

  /** Whether the request is in the queue, or the pool works on it. */
  has(id: RequestId): boolean {
    return this.waiting.has(id) || this.atWork.has(id);
  }

  /** Accepted requests that wait for capacity, with their missing labels. */
  paused(): PausedRequest[] {
    return [...this.atWork.values()].map(({ paused }) => paused).filter((item) => item !== undefined);
  }

  /** As {@link paused}; also updates {@link pausedCount}. */
  countPaused(): PausedRequest[] {
    const paused = this.paused();
    this.#pausedCount = paused.length;
    return paused;
  }
}
