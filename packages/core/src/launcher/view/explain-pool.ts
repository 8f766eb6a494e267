import type { RequestRecord } from '@nodepool/zk-protocol';
import { explainInPool } from '../plan/explain-in-pool.js';
import type { PoolExplanation } from '../plan/explanation.js';
import type { LivePoolView } from './pool-view.js';

/** What a pool of this process does with a request, or would do with one that has not been submitted. Changes nothing. */
export function explainPool(request: RequestRecord, view: LivePoolView): PoolExplanation {
  const { waiting: queue, atWork } = view.demand;
  const work = atWork.get(request.id);
  const handled = !work ? 'no' : work.paused ? 'paused' : 'collecting';
  const { reason, ...finding } = explainInPool(request, { view, queue, paused: view.demand.paused(), handled });
  const names = { provider: view.provider, pool: view.pool.name, launcherId: view.launcherId };
  return { ...names, own: true, ...reason, ...finding, hindrances: hindrancesOf(request, view, finding.action) };
}

/** The driver's hindrances, only for a request that waits. */
function hindrancesOf({ labels }: RequestRecord, view: LivePoolView, action: PoolExplanation['action']): string[] {
  if (action !== 'wait' && action !== 'handling') return [];
  const { provider } = view.runner;
  const found = [...new Set(labels)].flatMap((label) => provider.hindrances?.(view.pool.name, label) ?? []);
  return [...new Set(found)];
}
