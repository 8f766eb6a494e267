import type { LeaseRecord, NodeId, NodeRecord } from '@nodepool/zk-protocol';
import type { ProviderSet } from '../../launcher/providers/provider-set.js';
import { LeaseNodesLostError } from './lease-spec.js';

/** Knows nodes whose machine cannot be used any more. */
export type MachineSource = Pick<ProviderSet, 'unusableNodes'>;

/** Why machines of these nodes cannot be used any more. */
export function lostMachines(nodes: readonly NodeRecord[], machines: MachineSource): ReadonlyMap<NodeId, string> {
  const held = new Set(nodes.map(({ id }) => id));
  const lost = machines.unusableNodes().filter(({ nodeId }) => held.has(nodeId));
  return new Map(lost.map(({ nodeId, why }) => [nodeId, why]));
}

/**
 * The nodes of an active lease; none of any other.
 * @param held - those that are on hold for it
 * @throws {LeaseNodesLostError} some are not held for it any more, or have lost their machine
 */
export function allNodes(
  lease: LeaseRecord,
  held: readonly NodeRecord[],
  machines: MachineSource,
): readonly NodeRecord[] {
  if (lease.state !== 'active') return [];
  const ids = new Set(held.map(({ id }) => id));
  const missing = lease.nodeIds.filter((id) => !ids.has(id));
  if (missing.length > 0) throw new LeaseNodesLostError(lease.id, missing);
  const lost = lostMachines(held, machines);
  if (lost.size > 0) throw new LeaseNodesLostError(lease.id, [...lost.keys()], [...lost.values()].join('; '));
  return held;
}
