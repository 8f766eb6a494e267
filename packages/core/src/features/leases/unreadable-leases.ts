import { leaseOf, type LeaseRecord, type NodeId, type UnreadableRecord } from '@nodepool/zk-protocol';
import type { Mirror } from '../../launcher/state/mirror.js';
import type { Leases } from './leases.js';

/** Whether the request of a lease has a record that was never readable here, or a node of it one that cannot be read now. */
export function hasUnreadable(
  { nodes, requests }: Pick<Mirror, 'nodes' | 'requests'>,
  leases: Pick<Leases, 'requestOf'>,
  { id, state, nodeIds }: LeaseRecord,
): boolean {
  const request = leases.requestOf(id);
  if (state === 'waiting' && !request)
    return requests.unreadable.some((record) => !requests.get(record.id) && mayBeOf(record, id));
  const ids = request?.nodeIds ?? nodeIds;
  return nodes.unreadable.some((record) => ids.includes(record.id as NodeId));
}

/** Whether an unreadable request names the lease, or what it names is lost. */
function mayBeOf({ legible }: UnreadableRecord, lease: string): boolean {
  const data = legible['requestor_data'];
  return data === undefined || leaseOf(data) === lease;
}
