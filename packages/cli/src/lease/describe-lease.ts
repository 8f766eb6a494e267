import type { JsonObject } from '@nodepool/zk-protocol';
import { connectionDetails, knownHostsLines, kubeconfigOf } from '@nodepool/core/service';
import { sshCommand } from './ssh-command.js';
import { hostNames } from './host-names.js';
import type { LeasedNode } from './leased-node.js';

/** A node as scripts see it, in `--json` and in `NODEPOOL_NODES`. */
export function describeNode({ node, label, login }: LeasedNode, name: string): JsonObject {
  const { address, port, username, connectionType } = connectionDetails(node);
  return {
    id: node.id,
    name,
    label,
    labels: [...node.labels],
    provider: node.provider,
    pool: node.pool,
    az: node.az,
    hostname: node.hostname,
    ip: address ?? null,
    port: port ?? null,
    username,
    connection_type: connectionType,
    public_ipv4: node.publicIpv4,
    private_ipv4: node.privateIpv4,
    public_ipv6: node.publicIpv6,
    python_path: node.pythonPath,
    shell_type: node.shellType,
    host_keys: [...node.hostKeys],
    known_hosts: knownHostsLines(node),
    ssh: sshCommand(node, login) ?? null,
    identity: login?.identity ?? null,
    certificate: login?.certificate ?? null,
    kubeconfig: kubeconfigOf(node) ?? null,
    slot: node.slot,
    attributes: node.attributes,
  };
}

/** All nodes of a lease, in the order of the labels asked for. */
export function describeNodes(nodes: readonly LeasedNode[]): JsonObject[] {
  const names = hostNames(nodes);
  return nodes.map((leased, index) => describeNode(leased, names[index] ?? leased.node.id));
}

/** How to log in to the nodes, as text. */
export function leaseText(nodes: readonly LeasedNode[]): string {
  const names = hostNames(nodes);
  const lines = nodes.flatMap(({ node, login }, index) => {
    const { address, port, username, connectionType } = connectionDetails(node);
    const fallback = `${connectionType} ${username ?? ''} ${address ?? 'no address'} ${port ?? ''}`;
    const how = sshCommand(node, login) ?? fallback.replaceAll(/\s+/g, ' ').trim();
    return [
      `${names[index]}: node ${node.id} of ${node.provider ?? 'unknown provider'}`,
      `  ${how}`,
      ...knownHostsLines(node).map((line) => `  ${line}`),
    ];
  });
  return lines.join('\n');
}
