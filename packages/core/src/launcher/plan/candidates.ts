import type { PoolComponentRecord } from '@nodepool/zk-protocol';
import type { PlannedRequest, PoolView, Reason, RuleName } from './types.js';

/** Text of the requestor of standby nodes; such requests are declined, not paused, when nothing is free. */
export const MIN_READY_REQUESTOR = 'NodePool:min-ready';

/** Makes a {@link Reason}. */
export function reason(rule: RuleName, text: string, remedy: string, details: Reason['details'] = {}): Reason {
  return { rule, text, remedy, details };
}

/** Registered pools that have every wanted label and have not declined the request. */
export function findCandidates(request: PlannedRequest, view: PoolView): PoolComponentRecord[] {
  return view.registered.filter(
    (pool) =>
      !request.declinedBy.includes(pool.launcherId) && pool.supportedLabels.length > 0 && coversAll(pool, request),
  );
}

/** The pool is of the original, or of a version as old: it knows nothing of steering, and may never take a request. */
export function isOriginal({ firstPoolPauseMs }: PoolComponentRecord): boolean {
  return (firstPoolPauseMs ?? null) === null;
}

/** The pool has every label that the request wants. */
export function coversAll(pool: PoolComponentRecord, request: Pick<PlannedRequest, 'labels'>): boolean {
  return request.labels.every((label) => pool.supportedLabels.includes(label));
}
