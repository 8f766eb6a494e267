import type { Clock, NodeRecord, RequestId, RequestRecord } from '@nodepool/zk-protocol';
import type { PausedRequest } from '../plan/plan-pool.js';
import { RequestQueue } from '../plan/queue.js';
import { FirstPools } from './first-pools.js';

/** A request that a pool works on, as its view sees it. */
export interface RequestAtWork {
  /** As last written or read. */
  readonly request: RequestRecord;
  /** What it still lacks; `undefined`: it does not wait for capacity. */
  readonly paused: PausedRequest | undefined;
  /** Whether the driver would have a node serve it. */
  acceptsNode(node: NodeRecord): boolean;
}

/** The requests of one pool: those that wait for it, and those it works on. */
export class PoolDemand {
  readonly waiting = new RequestQueue();
  readonly atWork = new Map<RequestId, RequestAtWork>();
  /** Of those that wait, which are left to another pool for a moment. */
  readonly first: FirstPools;
  #pausedCount = 0;
  #isPlanDue = false;
  #plan: () => void = () => undefined;

  constructor(clock: Clock) {
    this.first = new FirstPools(clock);
  }

  /** The pool is about to plan. */
  get isPlanDue(): boolean {
    return this.#isPlanDue;
  }

  /** Tells when the pool is to plan, once for everything that happened in a turn. */
  onPlanDue(listener: () => void): void {
    this.#plan = listener;
  }

  /** Something has changed that may let the pool serve a request. */
  planSoon(): void {
    if (this.#isPlanDue) return;
    this.#isPlanDue = true;
    queueMicrotask(() => {
      this.#isPlanDue = false;
      this.#plan();
    });
  }

  /** A request waits for the pool, or is paused in it. */
  get isSome(): boolean {
    return this.waiting.size > 0 || this.#pausedCount > 0;
  }

  /** Accepted requests that wait for capacity, as last counted. */
  get pausedCount(): number {
    return this.#pausedCount;
  }

  /** The request waits in the pool, or the pool works on it. */
  has(id: RequestId): boolean {
    return this.waiting.has(id) || this.atWork.has(id);
  }

  /** Accepted requests that wait for capacity, and what they lack. */
  paused(): PausedRequest[] {
    return [...this.atWork.values()].map(({ paused }) => paused).filter((item) => item !== undefined);
  }

  /** Accepted requests that wait for capacity, counted anew. */
  countPaused(): PausedRequest[] {
    const paused = this.paused();
    this.#pausedCount = paused.length;
    return paused;
  }
}
