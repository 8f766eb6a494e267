import { compareRequests, type RequestRecord } from '@nodepool/zk-protocol';
import { behindReason, planPool, type PausedRequest, type PoolPlan } from './plan-pool.js';
import type { RequestQueue } from './queue.js';
import { reason } from './candidates.js';
import { judgeStanding } from './rules.js';
import type { PoolView, Reason, Verdict } from './types.js';

/** What a pool does with a request, and why. */
export interface PoolFinding {
  /** `handling`: under way, even if it waits for capacity; the others as in a verdict. */
  readonly action: Verdict['action'] | 'handling';
  readonly reason: Reason;
  /** Requests that the pool looks at before this one; `undefined` when it is not in the pool's queue. */
  readonly position: number | undefined;
}

/** What a pool has at hand when it is asked. */
export interface PoolState {
  readonly view: PoolView;
  /** Put back as it was. */
  readonly queue: RequestQueue;
  /** Accepted requests that wait for capacity. */
  readonly paused: readonly PausedRequest[];
  /** Whether this pool works on the request. */
  readonly handled: 'no' | 'collecting' | 'paused';
}

/**
 * Judges one request, waiting or hypothetical, the way a planning pass does. Changes nothing; costs a planning pass,
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
