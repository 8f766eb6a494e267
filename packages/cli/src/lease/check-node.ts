import type { Json, NodeRecord } from '@nodepool/zk-protocol';
import { CliError } from '../command/errors.js';

/** Values that are one plain word for ssh, its files, a shell and Ansible. */
const ADDRESS = /^[\w:[][\w.:%[\]/-]*$/;
const USER = /^[\p{L}\p{N}_.][\p{L}\p{N}_.@+\\-]*$/u;
const WORD = /^\w[\w.-]*$/;
const HOST_KEY = /^\w[\w.@-]* [A-Za-z0-9+/]+={0,2}$/;
const LARGEST_PORT = 65_535;

/**
 * Checks the fields that go into known_hosts, ssh commands and the inventory: a record must not inject a line or an option.
 * @throws CliError that names node and field
 */
export function checkNode(node: NodeRecord): void {
  const fields: readonly (readonly [string, Json, RegExp])[] = [
    ['interface_ip', node.interfaceIp, ADDRESS],
    ['public_ipv4', node.publicIpv4, ADDRESS],
    ['public_ipv6', node.publicIpv6, ADDRESS],
    ['private_ipv4', node.privateIpv4, ADDRESS],
    ['hostname', node.hostname, ADDRESS],
    ['username', node.username, USER],
    ['connection_type', node.connectionType, WORD],
    ['shell_type', node.shellType, WORD],
    ...node.hostKeys.map((key) => ['host_keys', key, HOST_KEY] as const),
  ];
  for (const [field, value, form] of fields) {
    if (value === null || value === '') continue;
    if (typeof value !== 'string' || !form.test(value)) throw unusable(node, field, value);
  }
  const port = node.connectionPort;
  const isPort = typeof port !== 'number' || (Number.isInteger(port) && port > 0 && port <= LARGEST_PORT);
  if (!isPort) throw unusable(node, 'connection_port', port);
}

function unusable(node: NodeRecord, field: string, value: Json): CliError {
  const what = `Node ${node.id} of ${node.provider ?? 'unknown provider'} is not used: its ${field} ${JSON.stringify(value)}`;
  return new CliError(
    `${what} has a form that is not safe in known_hosts, an ssh command or an inventory; delete the node`,
  );
}
