import { newNode } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { connectionDetails, knownHostsLines } from './connection-details.js';

const node = newNode({ state: 'hold', hostname: 'h', username: 'zuul', hostKeys: ['ssh-ed25519 AAAA'] }, 0);

it('reaches a node at its interface address, or else at the next one it has', () => {
  expect(connectionDetails(node)).toEqual({ address: 'h', port: 22, username: 'zuul', connectionType: 'ssh' });
  expect(connectionDetails({ ...node, interfaceIp: '10.0.0.1', publicIpv4: '192.0.2.1' }).address).toBe('10.0.0.1');
});

it('knows a host by its address, with the port unless it is the usual one', () => {
  expect(knownHostsLines({ ...node, connectionPort: 22 })).toEqual(['h ssh-ed25519 AAAA']);
  expect(knownHostsLines({ ...node, connectionPort: 2222 })).toEqual(['[h]:2222 ssh-ed25519 AAAA']);
  expect(knownHostsLines({ ...node, hostname: null })).toEqual([]);
});
