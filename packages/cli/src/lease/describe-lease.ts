import type { JsonObject } from '@nodepool/zk-protocol';
import { connectionDetails, knownHostsLines, sshCommand } from './connection-details.js';
import { hostNames } from './inventory.js';
import type { LeasedNode } from './lease.js';

/** A node as scripts see it, in `--json` and in `NODEPOOL_NODES`. */
export function describeNode({ node, label }: LeasedNode, name: string): JsonObject {
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
    ssh: sshCommand({ ...node }) ?? null,
    slot: node.slot,
    attributes: node.attributes,
  };
}

/** All nodes of a lease, in the order of the labels asked for. */
export function describeNodes(nodes: readonly LeasedNode[]): JsonObject[] {
  const names = hostNames(nodes);
  return nodes.map((leased, index) => describeNode(leased, names[index] ?? leased.node.id));
}

/** What a person needs to use the nodes. */
export function leaseText(nodes: readonly LeasedNode[]): string {
  const names = hostNames(nodes);
  const lines = nodes.flatMap(({ node }, index) => {
    const { address, port, username, connectionType } = connectionDetails(node);
    const fallback = `${connectionType} ${username ?? ''} ${address ?? 'no address'} ${port ?? ''}`;
    const how = sshCommand(node) ?? fallback.replaceAll(/\s+/g, ' ').trim();
    return [
      `${names[index]}: node ${node.id} of ${node.provider ?? 'unknown provider'}`,
      `  ${how}`,
      ...knownHostsLines(node).map((line) => `  ${line}`),
    ];
  });
  return lines.join('\n');
}

/**
 * Environment of a command that runs with the nodes: `NODEPOOL_NODES` (JSON), `NODEPOOL_NODE_COUNT`,
 * and for each node `NODEPOOL_NODE_<n>_<FACT>`, counted from 0.
 */
export function nodeEnvironment(requestId: string, nodes: readonly LeasedNode[]): Record<string, string> {
  const described = describeNodes(nodes);
  const env: Record<string, string> = {
    NODEPOOL_REQUEST_ID: requestId,
    NODEPOOL_NODES: JSON.stringify(described),
    NODEPOOL_NODE_COUNT: String(nodes.length),
  };
  const facts = [
    'id',
    'name',
    'label',
    'provider',
    'hostname',
    'ip',
    'port',
    'username',
    'connection_type',
    'python_path',
  ];
  described.forEach((node, index) => {
    for (const fact of facts) {
      const value = node[fact];
      if (typeof value === 'string' || typeof value === 'number') {
        env[`NODEPOOL_NODE_${index}_${fact.toUpperCase()}`] = String(value);
      }
    }
  });
  return env;
}
