import type { Json, JsonObject, NodeRecord } from '@nodepool/zk-protocol';
import { connectionDetails } from './connection-details.js';
import type { LeasedNode } from './lease.js';

/** Names for the nodes in the order asked for: the label, numbered where it was asked for more than once. */
export function hostNames(nodes: readonly LeasedNode[]): string[] {
  const total = new Map<string, number>();
  for (const { label } of nodes) total.set(label, (total.get(label) ?? 0) + 1);
  const used = new Map<string, number>();
  return nodes.map(({ label }) => {
    const number = (used.get(label) ?? 0) + 1;
    used.set(label, number);
    return total.get(label) === 1 ? label : `${label}-${number}`;
  });
}

/** Without keys of its own, a node's keys are taken at the first connection. */
function sshArguments(node: NodeRecord, knownHostsFile: string): string {
  const checking = node.hostKeys.length > 0 ? 'yes' : 'accept-new';
  return `-o UserKnownHostsFile='${knownHostsFile}' -o StrictHostKeyChecking=${checking}`;
}

/** Ansible's group names must not contain dashes, dots or blanks. */
function groupName(label: string): string {
  return label.replaceAll(/[^A-Za-z0-9_]/g, '_').replace(/^(?=\d)/, '_');
}

function withoutMissing(values: Record<string, Json | undefined>): JsonObject {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined && value !== null),
  ) as JsonObject;
}

function hostVariables({ node, label }: LeasedNode, knownHostsFile: string): JsonObject {
  const { address, port, username, connectionType } = connectionDetails(node);
  const isSsh = connectionType === 'ssh';
  return withoutMissing({
    ansible_host: address,
    ansible_port: port,
    ansible_user: username,
    ansible_connection: connectionType,
    ansible_python_interpreter: node.pythonPath,
    ansible_shell_type: node.shellType,
    ansible_ssh_common_args: isSsh ? sshArguments(node, knownHostsFile) : undefined,
    nodepool: withoutMissing({
      id: node.id,
      label,
      provider: node.provider,
      cloud: node.cloud,
      region: node.region,
      az: node.az,
      host_id: node.hostId,
      external_id: node.externalId,
      interface_ip: node.interfaceIp,
      public_ipv4: node.publicIpv4,
      private_ipv4: node.privateIpv4,
      public_ipv6: node.publicIpv6,
      slot: node.slot,
    }),
  });
}

/**
 * An Ansible inventory: all nodes by name, and a group per label. As text it is JSON, which Ansible's YAML inventory
 * plugin reads, so no value needs quoting rules.
 */
export function createInventory(nodes: readonly LeasedNode[], knownHostsFile: string): JsonObject {
  const names = hostNames(nodes);
  const hosts: JsonObject = {};
  const groups: Record<string, { hosts: JsonObject }> = {};
  nodes.forEach((leased, index) => {
    const name = names[index] ?? leased.node.id;
    hosts[name] = hostVariables(leased, knownHostsFile);
    const group = (groups[groupName(leased.label)] ??= { hosts: {} });
    group.hosts[name] = {};
  });
  return { all: { hosts, children: groups } };
}
