import { decodeNode, encodeNode, newNode } from '@nodepool/zk-protocol';
import type { NodeFields, NodeId, NodeRecord } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { connectionDetails, knownHostsLines } from './connection-details.js';
import { unsafeLoginField, withoutUnsafeLogin } from './login-fields.js';

function record(fields: NodeFields): NodeRecord {
  const login = { interfaceIp: '10.0.0.1', username: 'zuul', connectionPort: 22, hostKeys: ['ssh-ed25519 AAAA'] };
  const node = newNode({ state: 'in-use', ...login, ...fields }, 0);
  const decoded = decodeNode('0000000001' as NodeId, encodeNode(node), undefined, 0);
  if (!decoded) throw new Error('the record has no content');
  return decoded;
}

it.each<[string, NodeFields]>([
  ['host_keys', { hostKeys: ['ssh-ed25519 AAAA\n* ssh-ed25519 EVIL'] }],
  ['host_keys', { hostKeys: ['@cert-authority * ssh-ed25519 AAAA'] }],
  ['interface_ip', { interfaceIp: '-oProxyCommand=id' }],
  ['public_ipv4', { publicIpv4: '192.0.2.1 *' }],
  ['hostname', { hostname: 'host\u001b[2J' }],
  ['username', { username: '-oProxyCommand=id' }],
  ['username', { username: 'root\nevil' }],
  ['username', { username: ' root' }],
  ['connection_type', { connectionType: 'ssh -x' }],
  ['connection_type', { connectionType: 'local' }],
  ['connection_type', { connectionType: 'ansible.builtin.local' }],
  ['connection_type', { connectionType: 'community.docker.nsenter' }],
  ['shell_type', { shellType: '-c' }],
  ['connection_port', { connectionPort: 22.5 }],
  ['connection_port', { connectionPort: 65_536 }],
])('finds the unsafe %s, and takes all that is needed to log in from %j', (field, fields) => {
  const node = record(fields);
  const without = withoutUnsafeLogin(node);

  expect(unsafeLoginField(node)?.field).toBe(field);
  expect(connectionDetails(without)).toEqual({ address: undefined, username: null, connectionType: 'ssh' });
  expect(knownHostsLines(without)).toEqual([]);
  expect(without.id).toBe(node.id);
});

it.each<NodeFields>([
  { interfaceIp: 'fe80::1%eth0', hostKeys: ['ssh-ed25519 AAAA+/==', 'sk-ssh-ed25519@openssh.com BBBB'] },
  { hostname: 'node-1.example.org', username: 'EXAMPLE\\John Doe', connectionType: 'winrm', connectionPort: 5986 },
  ...['ssh', 'paramiko', 'psrp', 'network_cli', 'ansible.netcommon.httpapi', 'kubectl', 'namespace', 'own-plugin'].map(
    (connectionType) => ({ connectionType }),
  ),
])('keeps %j', (fields) => {
  const node = record(fields);

  expect(unsafeLoginField(node)).toBeUndefined();
  expect(withoutUnsafeLogin(node)).toBe(node);
});
