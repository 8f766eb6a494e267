import {
  decodeLease,
  leaseOf,
  leasePath,
  type LeaseRecord,
  type RequestId,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import type { CliContext } from '../command/context.js';
import { fetchRequests, ifPresent } from '../connection/fetch-records.js';

/** The request of a lease that waits, or all there is to say about another lease. */
export type LeaseSubject = { readonly requestId: RequestId } | { readonly text: string };

/**
 * Reads a lease of any owner from ZooKeeper.
 * @returns `undefined`: there is none of this id
 * @throws RecordError it cannot be read
 */
export async function explainLease(context: CliContext, zk: ZooKeeper, id: string): Promise<LeaseSubject | undefined> {
  const found = await ifPresent(zk.getData(leasePath(id)));
  const lease = found && decodeLease(id, found.data, found.stat);
  if (lease?.state !== 'waiting') return lease && { text: leaseText(lease) };
  const requests = await fetchRequests({ ...context, zk });
  const request = requests.find(({ requestorData }) => leaseOf(requestorData) === id);
  return request ? { requestId: request.id } : { text: `Lease ${id} of ${lease.owner} waits, and has no request now` };
}

function leaseText({ id, owner, state, dueTimeMs, nodeIds, endReason, stateTimeMs }: LeaseRecord): string {
  const timeText = (ms: number) => new Date(ms).toISOString();
  if (state === 'active') {
    const end = dueTimeMs === null ? 'until it is returned' : `until ${timeText(dueTimeMs)}`;
    return `Lease ${id} of ${owner} is active ${end}, with the nodes ${nodeIds.join(', ')}`;
  }
  return `Lease ${id} of ${owner} ${state} at ${timeText(stateTimeMs)}: ${endReason ?? 'no reason is known'}`;
}
