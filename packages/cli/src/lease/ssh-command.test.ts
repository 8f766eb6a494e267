import { decodeNode, encodeNode, newNode } from '@nodepool/zk-protocol';
import type { NodeId } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { sshCommand } from './ssh-command.js';

it('logs in with the key that is named', () => {
  const login = { interfaceIp: '10.0.0.1', username: 'zuul', connectionPort: 2222, connectionType: 'ssh' };
  const content = encodeNode(newNode({ state: 'in-use', ...login }, 0));
  const node = decodeNode('0000000001' as NodeId, content, undefined, 0);
  if (!node) throw new Error('the record has no content');

  expect(sshCommand(node)).toBe('ssh -p 2222 zuul@10.0.0.1');
  expect(sshCommand(node, { identity: 'my key' })).toBe("ssh -i 'my key' -o IdentitiesOnly=yes -p 2222 zuul@10.0.0.1");
  expect(sshCommand(node, { identity: '/k', certificate: '/k-cert.pub' })).toBe(
    'ssh -i /k -o IdentitiesOnly=yes -o CertificateFile=/k-cert.pub -p 2222 zuul@10.0.0.1',
  );
});
