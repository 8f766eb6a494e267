import type { PoolDemand } from '../view/pool-demand.js';
import type { RequestWork } from './request.js';

/** For how long a launch continues for a request that may follow the withdrawn one, as when a change is started again. */
export const UNWANTED_AFTER_MS = 10_000;
/** Shared by all launches, to save recording a stack for each. */
const UNWANTED = new Error('the request was withdrawn, and no other needs the node');

/**
 * Ends the launches for withdrawn requests whose nodes no other request of the pool needs: the oldest ones continue for those that wait
 * for the label, requests for free nodes included.
 */
export function endUnwanted(demand: PoolDemand<RequestWork>, nowMs: number): void {
  if (demand.withdrawn.size === 0) return;
  const needed = new Map<string, number>();
  for (const { missing } of demand.paused())
    for (const label of missing) needed.set(label, (needed.get(label) ?? 0) + 1);
  const taken = new Map<string, number>();
  for (const [work, sinceMs] of demand.withdrawn) {
    for (const { label, state, unwanted } of work.parts.all) {
      if (state !== 'working' || !unwanted || unwanted.cause) continue;
      const count = taken.get(label) ?? 0;
      if (count < demand.waiting.countOf(label) + (needed.get(label) ?? 0)) taken.set(label, count + 1);
      else if (nowMs - sinceMs >= UNWANTED_AFTER_MS) unwanted.abort(UNWANTED);
    }
  }
}
