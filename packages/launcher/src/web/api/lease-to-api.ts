import type { JsonObject, NodeId, NodeRecord, PoolComponentRecord } from '@nodepool/zk-protocol';
import type { LeaseView } from '@nodepool/core/launcher';
import { connectionDetails, knownHostsLines, kubeconfigOf, withoutUnsafeLogin } from '@nodepool/core/service';
import type { NodeCertificate } from '../../certificates/lease-certificates.js';
import { whyNotLent } from './not-lent.js';

type Pools = Iterable<PoolComponentRecord>;

/**
 * Converts a lease to its form in the API.
 * @param certificates - by node; a node without one takes none
 * @param pools - of all launchers
 */
export function leaseToApi(
  { lease, nodes, request, endMs, lostMachines }: LeaseView,
  certificates: ReadonlyMap<NodeId, NodeCertificate>,
  pools: Pools,
): JsonObject {
  const { id, state, owner, labels, reason, priority, tenantName, createdTimeMs, stateTimeMs, ttlMs } = lease;
  const due = endMs === undefined ? null : endMs / 1000;
  return {
    ...{ id, state, owner, labels: [...labels], reason, priority, tenant_name: tenantName },
    ...{ created_time: createdTimeMs / 1000, state_time: stateTimeMs / 1000, ttl: ttlMs / 1000 },
    expires: state === 'active' ? due : null,
    gives_up: state === 'waiting' ? due : null,
    nodes: nodes.map((node) => ({
      ...nodeToApi(withoutUnsafeLogin(node), labels[lease.nodeIds.indexOf(node.id)] ?? '', pools),
      ...certificateToApi(certificates.get(node.id)),
      machine_problem: lostMachines?.get(node.id) ?? null,
    })),
    ...{ request: request?.id ?? null, end_reason: lease.endReason },
  };
}

/**
 * The token of a cluster node is for its lessee alone: a slot has that of all slots of its machine, and a pool that keeps its nodes from
 * lessees gives none, also for a node that was leased before it said so.
 */
function kubeconfigFor(node: NodeRecord, pools: Pools): string | null {
  if (node.slot !== null || whyNotLent(pools, node).length > 0) return null;
  return kubeconfigOf(node) ?? null;
}

function nodeToApi(node: NodeRecord, label: string, pools: Pools): JsonObject {
  const { address, port, username, connectionType } = connectionDetails(node);
  return {
    ...{ id: node.id, label, host: address ?? null, port: port ?? null, username, connection_type: connectionType },
    ...{ known_hosts: knownHostsLines(node), provider: node.provider, pool: node.pool, zone: node.az },
    ...{ hostname: node.hostname, public_ipv4: node.publicIpv4, private_ipv4: node.privateIpv4 },
    ...{ public_ipv6: node.publicIpv6, python_path: node.pythonPath, shell_type: node.shellType },
    ...{ attributes: node.attributes, labels: [...node.labels], host_keys: [...node.hostKeys] },
    ...{ interface_ip: node.interfaceIp, cloud: node.cloud, region: node.region, host_id: node.hostId },
    ...{ external_id: node.externalId, slot: node.slot, kubeconfig: kubeconfigFor(node, pools) },
  };
}

function certificateToApi(certificate: NodeCertificate | undefined): JsonObject {
  return {
    certificate: certificate?.line ?? null,
    certificate_expires: certificate?.line === undefined ? null : certificate.untilMs / 1000,
    certificate_problem: certificate?.problem ?? null,
  };
}
