import type { Json, JsonObject } from '@nodepool/zk-protocol';
import { connectionDetails } from '@nodepool/core/service';
import { hostNames } from '../lease/host-names.js';
import type { LeasedNode } from '../lease/leased-node.js';

/** A node without known keys is trusted at the first connection. */
function sshArguments({ node, login }: LeasedNode, knownHostsFile: string): string {
  const checking = node.hostKeys.length > 0 ? 'yes' : 'accept-new';
  const certificate = login?.certificate;
  return [
    `-o UserKnownHostsFile='${knownHostsFile}' -o StrictHostKeyChecking=${checking}`,
    ...(login === undefined ? [] : ['-o IdentitiesOnly=yes']),
    ...(certificate === undefined ? [] : [`-o CertificateFile='${certificate}'`]),
  ].join(' ');
}

/** Groups that every inventory has. */
const RESERVED_GROUPS = new Set(['all', 'ungrouped']);

/**
 * Ansible's group names must not contain dashes, dots or blanks. A host's name has a dash, see {@link hostNames}, so no
 * group is ever named like a host.
 */
function groupName(label: string): string {
  const name = label.replaceAll(/[^A-Za-z0-9_]/g, '_').replace(/^(?=\d|$)/, '_');
  return RESERVED_GROUPS.has(name) ? `_${name}` : name;
}

/** Marks text that Ansible would evaluate as a template as unsafe: a host name must not run code here. */
function plain(value: Json): Json {
  if (typeof value === 'string') return /\{[{%#]/.test(value) ? { __ansible_unsafe: value } : value;
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]));
}

function withoutMissing(values: Record<string, Json | undefined>): JsonObject {
  const present = Object.entries(values).filter((entry): entry is [string, Json] => (entry[1] ?? null) !== null);
  return Object.fromEntries(present);
}

function hostVariables(leased: LeasedNode, knownHostsFile: string): JsonObject {
  const { node, label, login } = leased;
  const { address, port, username, connectionType } = connectionDetails(node);
  const isSsh = connectionType === 'ssh';
  return withoutMissing({
    ansible_host: address,
    ansible_port: port,
    ansible_user: username,
    ansible_connection: connectionType,
    ansible_python_interpreter: node.pythonPath,
    ansible_shell_type: node.shellType,
    ansible_ssh_common_args: isSsh ? sshArguments(leased, knownHostsFile) : undefined,
    ansible_ssh_private_key_file: isSsh ? login?.identity : undefined,
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
  const hosts: [string, Json][] = [];
  const groups = new Map<string, [string, JsonObject][]>();
  const names = hostNames(nodes);
  nodes.forEach((leased, index) => {
    const name = names[index] ?? leased.node.id;
    const group = groupName(leased.label);
    hosts.push([name, plain(hostVariables(leased, knownHostsFile))]);
    groups.set(group, [...(groups.get(group) ?? []), [name, {}]]);
  });
  const children = [...groups].map(([name, members]) => [name, { hosts: Object.fromEntries(members) }] as const);
  return { all: { hosts: Object.fromEntries(hosts), children: Object.fromEntries(children) } };
}
