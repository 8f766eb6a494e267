import type { NodeRecord } from '@nodepool/zk-protocol';

/** User of a node as text; `null` for none. */
export function userOf(node: NodeRecord): string | null {
  const { state, comment, holdJob, allocatedTo, requestor, tenantName } = node;
  if (state === 'hold') return comment ?? (holdJob === null ? 'held' : `held for job ${holdJob}`);
  if (allocatedTo === null && state !== 'in-use') return null;
  const named = [requestor, tenantName !== null && `tenant ${tenantName}`].filter(Boolean).join(', ');
  return named === '' ? `request ${allocatedTo ?? 'unknown'}` : named;
}
