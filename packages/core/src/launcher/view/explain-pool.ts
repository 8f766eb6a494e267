import { compareRequests, type RequestRecord } from '@nodepool/zk-protocol';
import { reason } from '../plan/candidates.js';
import type { PoolExplanation } from '../plan/explanation.js';
import { behindReason, planPool, type PausedRequest, type PoolPlan } from '../plan/plan-pool.js';
import type { RequestQueue } from '../plan/queue.js';
import { judgeStanding } from '../plan/rules.js';
import type { PoolView, Reason, Verdict } from '../plan/types.js';
import type { LivePoolView } from './pool-view.js';

/** What a pool of this process does with a request, or would do with one that has not been submitted. Changes nothing. */
export function explainPool(request: RequestRecord, view: LivePoolView): PoolExplanation {
  const { waiting: queue, atWork } = view.demand;
  const work = atWork.get(request.id);
  const handled = !work ? 'no' : work.paused ? 'paused' : 'collecting';
  const { reason, ...finding } = explainInPool(request, { view, queue, paused: view.demand.paused(), handled });
  const names = { provider: view.provider, pool: view.pool.name, launcherId: view.launcherId };
  return { ...names, own: true, ...reason, ...finding, blockers: blockersOf(request, view, finding.action) };
}

/** The driver's blockers, only for a request that waits. */
function blockersOf({ labels }: RequestRecord, view: LivePoolView, action: PoolExplanation['action']): string[] {
  if (action !== 'wait' && action !== 'handling') return [];
  const { provider } = view.runner;
  const found = [...new Set(labels)].flatMap((label) => provider.blockers?.(view.pool.name, label) ?? []);
  return [...new Set(found)];
}

/** What a pool does with a request, and why. */
interface PoolFinding {
  /** `handling`: the pool works on it, even if it waits for capacity; the others as in a verdict. */
  readonly action: Verdict['action'] | 'handling';
  readonly reason: Reason;
  /** Number of requests ahead of this one; `undefined` if it is not in the pool's queue. */
  readonly position: number | undefined;
}

/** The state of a pool that an explanation is based on. */
export interface PoolState {
  readonly view: PoolView;
  readonly queue: RequestQueue;
  /** Accepted requests that wait for capacity. */
  readonly paused: readonly PausedRequest[];
  /** Whether the pool works on the request. */
  readonly handled: 'no' | 'collecting' | 'paused';
}

/**
 * Judges one request, waiting or hypothetical, as a planning pass does. Leaves the queue as it was. Costs one planning pass,
 * however many requests wait.
 */
export function explainInPool(request: RequestRecord, state: PoolState): PoolFinding {
  const { view, queue, paused, handled } = state;
  if (handled === 'collecting') {
    const working = reason('accept', 'it is collecting nodes for the request', 'nothing: wait');
    return { action: 'handling', reason: working, position: undefined };
  }
  const verdict = handled === 'paused' ? undefined : judgeStanding(request, view);
  if (verdict) return { action: verdict.action, reason: verdict.reason, position: undefined };
  const isGuest = handled === 'no' && !queue.has(request.id);
  if (isGuest) queue.put(request);
  try {
    return findIn(planPool(view, paused, queue.groups()), request, state);
  } finally {
    if (isGuest) queue.remove(request.id);
  }
}

function findIn(plan: PoolPlan, request: RequestRecord, { queue, paused: accepted, handled }: PoolState): PoolFinding {
  const isIt = (item: { request: RequestRecord }) => item.request.id === request.id;
  const ahead = accepted.length + queue.countAhead(request); // accepted ones come before all that wait in the queue
  const paused = plan.paused.find(isIt);
  if (handled === 'paused') {
    const why = paused?.reason ?? reason('accept', 'it is about to continue the request', 'nothing: wait');
    const before = accepted.filter((other) => compareRequests(other.request, request) < 0);
    return { action: 'handling', reason: why, position: before.length };
  }
  if (plan.accept.find(isIt)?.assignment.complete) {
    return { action: 'accept', reason: reason('accept', 'it can be served now', 'nothing'), position: ahead };
  }
  const declined = plan.decline.find(isIt);
  if (declined) return { action: 'decline', reason: declined.reason, position: ahead };
  const head = paused ?? plan.waiting.find(isIt);
  if (head) return { action: 'wait', reason: head.reason, position: ahead };
  const group = queue.groupOf(request.id);
  const first = plan.waiting.find((item) => item.group === group);
  if (first) return { action: 'wait', reason: behindReason(first.reason, ahead), position: ahead };
  const soon = reason('pool-full', 'it is about to be looked at', 'nothing: wait');
  return { action: 'wait', reason: soon, position: ahead };
}
