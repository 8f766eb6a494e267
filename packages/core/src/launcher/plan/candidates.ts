import type { PoolComponentRecord } from '@nodepool/zk-protocol';
import type { PlannedRequest, PoolView, Reason, RuleName } from './types.js';

/** The requestor of free nodes. Such requests are declined, not paused, if there is no capacity. */
export const MIN_READY_REQUESTOR = 'NodePool:min-ready';

/** Makes a {@link Reason}. */
export function reason(rule: RuleName, text: string, remedy: string, details: Reason['details'] = {}): Reason {
  return { rule, text, remedy, details };
}

/** Registered pools that have all labels of the request and have not declined it. */
export function findCandidates(request: PlannedRequest, view: PoolView): PoolComponentRecord[] {
  return view.registered.filter(
    (pool) =>
      !request.declinedBy.includes(pool.launcherId) && pool.supportedLabels.length > 0 && coversAll(pool, request),
  );
}

/** Whether the pool belongs to the original Nodepool or a version as old: it does not steer, and may never take a request. */
export function isOriginal({ firstPoolPauseMs }: PoolComponentRecord): boolean {
  return (firstPoolPauseMs ?? null) === null;
}

/** Whether the pool has all labels of the request. */
export function coversAll(pool: PoolComponentRecord, request: Pick<PlannedRequest, 'labels'>): boolean {
  return request.labels.every((label) => pool.supportedLabels.includes(label));
}
