import { compareRequests, type NodeRecord, type RequestRecord } from '@nodepool/zk-protocol';
import type { PoolExplanation } from '../plan/explanation.js';
import { RequestQueue } from '../plan/queue.js';
import { judgeStanding } from '../plan/rules.js';
import type { QuotaView } from '../plan/types.js';
import { explainPool } from '../pools/explain-pool.js';
import { LivePoolView, type LivePoolViewOptions } from '../pools/pool-view.js';

/**
 * A pool as its worker would see it, without a worker. What only a running provider knows is taken to be in order: limits
 * of the cloud that no launcher has read are none, and images are there.
 */
export class ObservedPool extends LivePoolView {
  readonly #queue: RequestQueue;

  constructor(options: Omit<LivePoolViewOptions, 'requests'>) {
    const queue = new RequestQueue(compareRequests);
    const requests = {
      pausedCount: () => 0,
      waitingFor: (label: string) => queue.countOf(label),
      has: (id: string) => queue.has(id),
      isPausing: () => false,
      acceptsNode: () => true,
    };
    super({ ...options, requests });
    this.#queue = queue;
  }

  /** Fills the queue, so that the pool can {@link explain}. */
  observe(requests: Iterable<RequestRecord>): void {
    for (const request of requests) if (!judgeStanding(request, this)) this.#queue.put(request);
  }

  /** What the pool would do with a request. */
  explain(request: RequestRecord): PoolExplanation {
    return explainPool(request, this, { queue: this.#queue, paused: [], handled: 'no' });
  }

  override get quota(): QuotaView {
    const quota = super.quota;
    return { ...quota, providerTotal: quota.providerTotal ?? {} };
  }

  override acceptsNode(_request: RequestRecord, _node: NodeRecord): boolean {
    return true;
  }

  override labelReady(label: string): boolean {
    return this.pool.labels.has(label);
  }
}
