import { describe, expect, it } from 'vitest';
import { decodeNode, encodeNode, newNode } from '@nodepool/zk-protocol';
import type { NodeFields, NodeId, NodeRecord } from '@nodepool/zk-protocol';
import { RemoteNode } from './remote-node.js';

const KNOWN_HOSTS = '/tmp/known';

function record(fields: NodeFields = {}): NodeRecord {
  const login = { interfaceIp: '10.0.0.1', username: 'zuul', connectionPort: 2222, connectionType: 'ssh' };
  const node = newNode({ state: 'in-use', hostKeys: ['ssh-ed25519 AAAA'], ...login, ...fields }, 0);
  const decoded = decodeNode('0000000001' as NodeId, encodeNode(node), undefined, 0);
  if (!decoded) throw new Error('the record has no content');
  return decoded;
}

describe('RemoteNode', () => {
  it('logs in with the host keys, user and port of the node over a separate connection', () => {
    const node = new RemoteNode(record(), KNOWN_HOSTS, { identity: '/key', certificate: '/key-cert.pub' });

    const args = node.login('terminal').join(' ');

    expect(node.where).toBe('node 0000000001 (zuul@10.0.0.1 port 2222)');
    expect(args).toMatch(/^-t .* -i \/key -o \S+ -o \S+ -p 2222 -l zuul -- 10\.0\.0\.1$/);
    const safe = [
      'RemoteCommand=none',
      'PermitLocalCommand=no',
      'ForwardAgent=no',
      'IdentitiesOnly=yes',
      'ControlPath=none',
    ];
    const own = ['UserKnownHostsFile=/tmp/known', 'StrictHostKeyChecking=yes', 'CertificateFile=/key-cert.pub'];
    for (const option of [...safe, ...own]) expect(args).toContain(`-o ${option}`);
  });

  it('accepts any key of a node without host keys', () => {
    expect(new RemoteNode(record({ hostKeys: [] }), KNOWN_HOSTS).login('streams')).toContain(
      'StrictHostKeyChecking=accept-new',
    );
  });

  it('gives each use of a node its own folder', () => {
    expect(new RemoteNode(record(), KNOWN_HOSTS).folder).not.toBe(new RemoteNode(record(), KNOWN_HOSTS).folder);
  });

  it.each([
    [{ connectionType: 'winrm' }, 'Node 0000000001 is reached by winrm, not by ssh: use nodepool run'],
    [{ interfaceIp: null }, 'Node 0000000001 has no address: use nodepool run'],
  ])('refuses %j', (fields, message) => {
    expect(() => new RemoteNode(record(fields), KNOWN_HOSTS)).toThrow(message);
  });
});
