import { describe, expect, it } from 'vitest';
import { newNode } from '@nodepool/zk-protocol';
import type { NodeFields, NodeId } from '@nodepool/zk-protocol';
import { createInventory } from './inventory.js';

function inventory(labels: readonly string[], fields: NodeFields = {}) {
  const nodes = labels.map((label, index) => {
    const node = newNode({ state: 'in-use', interfaceIp: '192.0.2.1', connectionPort: 22, ...fields }, 0);
    return { label, node: { ...node, id: String(index) as NodeId } };
  });
  return JSON.parse(JSON.stringify(createInventory(nodes, '/k'))) as {
    all: { hosts: Record<string, Record<string, unknown>>; children: Record<string, { hosts: object }> };
  };
}

describe('createInventory', () => {
  it('numbers hosts, and never names a group like a host', () => {
    const { hosts, children } = inventory(['small', 'small', 'small-1', 'big']).all;

    expect(Object.keys(hosts)).toEqual(['small-1', 'small-2', 'small-1-1', 'big-1']);
    expect(Object.keys(children)).toEqual(['small', 'small_1', 'big']);
    expect(Object.keys(children).filter((name) => name in hosts)).toEqual([]);
  });

  it.each([
    ['all', '_all'],
    ['ungrouped', '_ungrouped'],
    ['constructor', 'constructor'],
    ['__proto__', '__proto__'],
    ['8core', '_8core'],
    ['web[1:3]:22', 'web_1_3__22'],
  ])('takes the label %s', (label, group) => {
    const { hosts, children } = inventory([label, label]).all;

    expect(Object.keys(children)).toEqual([group]);
    expect(Object.keys(hosts)).toHaveLength(2);
    expect(Object.keys(hosts).every((name) => /^[\w.-]+$/.test(name))).toBe(true);
  });

  it('marks what would be a template as plain text', () => {
    const { hosts } = inventory(['small'], {
      pythonPath: "{{ lookup('pipe', 'id') }}",
      externalId: { a: ['{% raw %}'] },
    }).all;

    expect(hosts['small-1']).toMatchObject({
      ansible_python_interpreter: { __ansible_unsafe: "{{ lookup('pipe', 'id') }}" },
      nodepool: { external_id: { a: [{ __ansible_unsafe: '{% raw %}' }] } },
    });
  });
});

it('has the key and the certificate of the lease', () => {
  const node = newNode({ state: 'in-use', interfaceIp: '192.0.2.1', connectionPort: 22 }, 0);
  const login = { identity: '/k', certificate: '/c-cert.pub' };
  const { all } = createInventory([{ label: 'small', node: { ...node, id: '1' as NodeId }, login }], '/hosts');

  expect(all).toMatchObject({
    hosts: {
      'small-1': {
        ansible_ssh_private_key_file: '/k',
        ansible_ssh_common_args: expect.stringMatching(
          / -o IdentitiesOnly=yes -o CertificateFile='\/c-cert\.pub'$/,
        ) as string,
      },
    },
  });
});
