import type { QuotaView } from '../plan/types.js';
import { PoolWorker } from '../pools/pool-worker.js';

/**
 * A pool as its worker would see it, never started. What only a running provider knows is taken to be in order: limits of
 * the cloud that nobody has read are none, and images are there.
 */
export class ObservedPool extends PoolWorker {
  override get quota(): QuotaView {
    const quota = super.quota;
    return { ...quota, providerTotal: quota.providerTotal ?? {} };
  }

  override acceptsNode(): boolean {
    return true;
  }

  override labelReady(label: string): boolean {
    return this.pool.labels.has(label);
  }
}
