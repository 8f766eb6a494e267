import type { NodeRecord, RequestRecord } from '@nodepool/zk-protocol';
import { findOverrun, subtractFromLimit } from '../../contract/resources.js';
import { isResumable } from '../plan/nodes.js';
import type { Assignment, AssignmentPart, PoolView } from '../plan/types.js';
import { NODES_PER_TRANSACTION } from './locks.js';

/** Whether the request may still get the node; others allocated to it are about to be deleted. */
export function isPresent(node: NodeRecord): boolean {
  return isResumable(node) || node.state === 'ready';
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

/** Whether nodes and promises of the request's tenant exceed the limit of that. */
export function exceedsTenant(
  { tenantName }: Pick<RequestRecord, 'tenantName'>,
  view: Pick<PoolView, 'tenantLimit' | 'tenantUsed'>,
): boolean {
  const limit = tenantName === null ? undefined : view.tenantLimit(tenantName);
  if (tenantName === null || !limit) return false;
  return findOverrun(subtractFromLimit(limit, view.tenantUsed(tenantName))) !== undefined;
}
