import type { NodeFields } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { nodeInUse } from '../../test/fake-ssh.js';
import { checkNode } from './check-node.js';

it.each<[string, NodeFields]>([
  ['host_keys', { hostKeys: ['ssh-ed25519 AAAA\n* ssh-ed25519 EVIL'] }],
  ['host_keys', { hostKeys: ['@cert-authority * ssh-ed25519 AAAA'] }],
  ['interface_ip', { interfaceIp: '-oProxyCommand=id' }],
  ['public_ipv4', { publicIpv4: '192.0.2.1 *' }],
  ['hostname', { hostname: 'host\u001b[2J' }],
  ['username', { username: '-oProxyCommand=id' }],
  ['username', { username: 'root\nevil' }],
  ['username', { username: '$(id)' }],
  ['connection_type', { connectionType: 'ssh -x' }],
  ['connection_type', { connectionType: 'local' }],
  ['connection_type', { connectionType: 'ansible.builtin.local' }],
  ['connection_port', { connectionPort: 22.5 }],
  ['connection_port', { connectionPort: 65_536 }],
])('refuses a node whose %s is unsafe: %j', (field, fields) => {
  expect(() => checkNode(nodeInUse({ provider: 'rack', ...fields }))).toThrow(
    `Node 0000000001 of rack is not used: its ${field} `,
  );
});

it.each<NodeFields>([
  { interfaceIp: 'fe80::1%eth0', hostKeys: ['ssh-ed25519 AAAA+/==', 'sk-ssh-ed25519@openssh.com BBBB'] },
  { hostname: 'node-1.example.org', username: 'EXAMPLE\\zuul', connectionType: 'winrm', connectionPort: 5986 },
])('accepts %j', (fields) => {
  expect(() => checkNode(nodeInUse(fields))).not.toThrow();
});
