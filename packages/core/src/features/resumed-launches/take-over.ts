import type { NodeRecord, RequestRecord } from '@nodepool/zk-protocol';
import type { Engine } from '../../launcher/nodes/feature.js';
import { judgeControls } from '../../launcher/plan/controls.js';
import { isPassing, judgeDecline } from '../../launcher/plan/rules.js';
import type { Assignment, AssignmentPart } from '../../launcher/plan/types.js';
import { NODES_PER_TRANSACTION } from '../../launcher/requests/locks.js';

/** Whether a pool has taken a request over; `later`: it cannot yet; `no`: it could not accept it. */
export type TakeOver = 'taken' | 'later' | 'no';

/**
 * Has the pool of its nodes serve a request that another launcher had accepted, with all nodes that it has; launches are resumed, and
 * what it lacks waits. Not if an operator's order or the configuration would not let the pool accept it.
 */
export function takeOver(
  { context, views, ledger, lost, pools }: Engine,
  request: RequestRecord,
  nodes: readonly NodeRecord[],
): TakeOver {
  const present = nodes.filter(isPresent);
  const view = views.all.find((each) =>
    present.every(({ provider, pool }) => provider === each.provider && pool === each.pool.name),
  );
  if (!view || view.stopping || !view.runner.resumes || ledger.has(request.id)) return 'no';
  if (!view.isRegistered || !view.runner.running || !context.life.isActive) return 'later';
  if (lost.isRecovering(request.id)) return 'later'; // the locks of its last work are being removed
  const assignment = assignPresent(request, nodes);
  if (!assignment || view.maxConcurrency === 0 || judgeControls(request, view)) return 'no';
  const declined = judgeDecline(request, view)?.reason;
  const isForMore = declined?.rule === 'exceeds-quota' && assignment.complete; // what it has exists
  if (declined && !isPassing(declined) && !isForMore) return 'no';
  pools.serve(view, request, assignment);
  return 'taken';
}

/**
 * Assigns a request of a launcher that is gone the nodes that it has; parts without one wait for capacity.
 * @param nodes - all that are allocated to it
 * @returns `undefined` if its nodes cannot be locked in one transaction, or one of them does not fit
 */
export function assignPresent(request: RequestRecord, nodes: readonly NodeRecord[]): Assignment | undefined {
  const usable = nodes.filter(isPresent);
  const az = usable[0]?.az ?? null;
  if (usable.length > NODES_PER_TRANSACTION) return undefined;
  const parts = request.labels.map((label): AssignmentPart => {
    const index = usable.findIndex(({ labels }) => labels.includes(label));
    const [node] = index < 0 ? [] : usable.splice(index, 1);
    return { label, source: node ? { kind: 'node', node } : { kind: 'wait' } };
  });
  if (usable.length > 0) return undefined;
  return { parts, complete: parts.every(({ source }) => source.kind === 'node'), az };
}

/** Whether the request may still get the node; others allocated to it are about to be deleted. */
function isPresent(node: NodeRecord): boolean {
  return isResumable(node) || node.state === 'ready';
}

/** Whether another launcher can resume the launch of the node. */
export function isResumable({ state, launchState, allocatedTo }: NodeRecord): boolean {
  return (state === 'building' || state === 'init') && launchState !== null && allocatedTo !== null;
}
