import type { PoolComponentRecord } from '@nodepool/zk-protocol';
import { judgeDecline, judgeStanding } from '../plan/rules.js';
import type { PlannedRequest, PoolView } from '../plan/types.js';

/** The pools of a system: registry entries of all, and views of those whose configuration is known. */
export interface Offer {
  readonly views: readonly PoolView[];
  readonly registered: readonly PoolComponentRecord[];
}

/** Pools that can serve a request sooner or later, as `provider/pool`. Empty: it will fail. */
export function findServingPools(request: PlannedRequest, { views, registered }: Offer): string[] {
  const known = new Set(views.map((view) => view.launcherId));
  const own = views.filter((view) => canServe(request, view)).map((view) => `${view.provider}/${view.pool.name}`);
  const foreign = registered
    .filter((pool) => !known.has(pool.launcherId) && !request.declinedBy.includes(pool.launcherId))
    .filter((pool) => request.labels.every((label) => pool.supportedLabels.includes(label)))
    .map((pool) => `${pool.providerName}/${pool.name}`);
  return [...new Set([...own, ...foreign])];
}

/** Why the pools cannot serve a request, each reason once. */
export function whyHopeless(request: PlannedRequest, { views }: Offer): string[] {
  const texts = views.map((view) => {
    const verdict = judgeStanding(request, view);
    if (launchesNothing(view)) return `${view.provider}/${view.pool.name}: max-concurrency 0, it launches nothing`;
    const found = verdict?.action === 'skip' ? verdict : judgeDecline(request, view);
    return found && `${view.provider}/${view.pool.name}: ${found.reason.text}`;
  });
  const given = [...new Set(texts.filter((text) => text !== undefined))];
  return given.length > 0 ? given : ['no pool has its labels'];
}

/** Whether the pool can serve the request sooner or later: it may get a request that it yields or defers now. */
function canServe(request: PlannedRequest, view: PoolView): boolean {
  const verdict = judgeStanding(request, view);
  if (verdict?.action === 'skip' || verdict?.action === 'decline' || launchesNothing(view)) return false;
  return judgeDecline(request, view) === undefined;
}

/** Whether the pool launches no nodes, so that a request would wait for a returned node. */
function launchesNothing({ launches, maxConcurrency }: PoolView): boolean {
  return launches && maxConcurrency === 0;
}
