import type { NodeRecord, RequestRecord } from '@nodepool/zk-protocol';
import type { PoolExplanation } from '../plan/explanation.js';
import { judgeStanding } from '../plan/rules.js';
import type { QuotaView } from '../plan/types.js';
import { explainPool } from '../view/explain-pool.js';
import { LivePoolView } from '../view/pool-view.js';

/**
 * A pool as a launcher would see it. State that only a running provider knows is assumed to be good: the cloud has no limits,
 * and all images are available.
 */
export class ObservedPool extends LivePoolView {
  /** Fills the queue, so that the pool can {@link explain}. */
  observe(requests: Iterable<RequestRecord>): void {
    for (const request of requests) if (!judgeStanding(request, this)) this.demand.waiting.put(request);
  }

  /** Explains what the pool would do with a request. */
  explain(request: RequestRecord): PoolExplanation {
    return explainPool(request, this);
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
