import { describe, expect, it } from 'vitest';
import { readProviderConfig } from './config.js';
import type { HostFacts } from './host-check.js';
import { slotRecord, staleFields } from './host-record.js';

const NOW_MS = 1_000;
const facts: HostFacts = { publicIpv4: '192.0.2.7', publicIpv6: null, hostKeys: ['ssh-rsa AAAA'], checkedAtMs: 0 };

function offer(more: object = {}, pool: object = {}) {
  const node = { name: 'h1.example.com', labels: ['small'], ...more };
  const entry = { name: 'rack', driver: 'static', pools: [{ name: 'main', ...pool, nodes: [node] }] };
  const config = readProviderConfig(entry, { labels: new Map(), diskimages: new Map(), problem: () => {} });
  const [poolConfig] = config.pools.values();
  const host = poolConfig?.hosts[0];
  if (poolConfig === undefined || host === undefined) throw new Error('no host was read');
  return { provider: 'rack', pool: poolConfig, host };
}
const record = () => ({ ...slotRecord(offer(), facts, 0, NOW_MS), id: '0000000001' as never });

describe('slotRecord', () => {
  it('has every field of the data model', () => {
    const host = { 'connection-port': 2222, 'shell-type': 'sh' };
    const pool = { 'node-attributes': { 'executor-zone': 'east' } };

    expect(slotRecord(offer(host, pool), facts, 0, NOW_MS)).toMatchObject({
      state: 'ready',
      provider: 'rack',
      pool: 'main',
      labels: ['small'],
      launcher: 'static driver',
      externalId: 'h1.example.com',
      hostname: 'h1.example.com',
      interfaceIp: 'h1.example.com',
      publicIpv4: '192.0.2.7',
      publicIpv6: null,
      privateIpv4: null,
      username: 'zuul',
      connectionPort: 2222,
      connectionType: 'ssh',
      shellType: 'sh',
      pythonPath: 'auto',
      hostKeys: ['ssh-rsa AAAA'],
      slot: 0,
      attributes: { 'executor-zone': 'east' },
      resources: null,
      allocatedTo: null,
      createdTimeMs: NOW_MS,
      stateTimeMs: NOW_MS,
    });
  });
});

describe('staleFields', () => {
  it('are undefined for a current record', () => {
    expect(staleFields(record(), offer(), facts, 0)).toBeUndefined();
  });

  it('are undefined if only the address or the order of keys differs', () => {
    const stored = { ...record(), hostKeys: ['b', 'a', 'b'] };

    expect(
      staleFields(stored, offer(), { ...facts, publicIpv4: '192.0.2.8', hostKeys: ['a', 'b'] }, 0),
    ).toBeUndefined();
  });

  it.each([
    ['labels', offer({ labels: ['big'] }), { labels: ['big'] }],
    ['attributes', offer({}, { 'node-attributes': { zone: 'west' } }), { attributes: { zone: 'west' } }],
    ['the pool', offer({}, { name: 'other' }), { pool: 'other' }],
    ['the connection type', offer({ 'connection-type': 'network_cli' }), { connectionType: 'network_cli' }],
  ])('hold %s after a reload', (_what, changed, expected) => {
    expect(staleFields(record(), changed, facts, 0)).toMatchObject(expected);
  });

  it('hold new keys and another slot', () => {
    expect(staleFields(record(), offer(), { ...facts, hostKeys: ['ssh-rsa BBBB'] }, 0)).toMatchObject({
      hostKeys: ['ssh-rsa BBBB'],
    });
    expect(staleFields(record(), offer(), facts, 1)).toMatchObject({ slot: 1 });
  });
});
