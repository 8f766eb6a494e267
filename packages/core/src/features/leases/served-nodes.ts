import type { LeaseRecord, NodeRecord, RequestRecord } from '@nodepool/zk-protocol';
import type { Context } from '../../launcher/state/context.js';
import { isHeldFor, requestAgain } from './lease-writes.js';
import type { Leases } from './leases.js';
import { hasUnreadable } from './unreadable-leases.js';

/**
 * The nodes of a fulfilled request that are still there for its lease: allocated to the request, or already on hold,
 * as launchers of older releases leave it
 * @returns `undefined`: one was lost, so the request is back in the queue, or cannot be read, so the lease waits
 * @throws {Refusal} of `LeaseOwner`
 */
export async function servedNodes(
  context: Context,
  leases: Leases,
  lease: LeaseRecord,
  request: RequestRecord,
): Promise<NodeRecord[] | undefined> {
  const { nodes } = context.mirror;
  const find = () => {
    const found = request.nodeIds.flatMap((id) => nodes.get(id) ?? []);
    const isAllocated = ({ state, allocatedTo }: NodeRecord) => state === 'ready' && allocatedTo === request.id;
    return found.filter((node) => isAllocated(node) || isHeldFor(node, lease.id));
  };
  if (find().length < request.nodeIds.length) await nodes.settle(); // the request may be known before its nodes
  const found = find();
  if (found.length === request.nodeIds.length) return found;
  if (hasUnreadable(context.mirror, leases, lease)) return undefined;
  context.logger.warn('A node was lost before its lease was active; requesting again', { lease: lease.id });
  await requestAgain(context, leases.kept(lease), request, found);
  return undefined;
}
