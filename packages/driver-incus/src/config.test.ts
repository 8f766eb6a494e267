import type { JsonObject, LabelConfig } from '@nodepool/core';
import { expect, it } from 'vitest';
import { readProviderConfig } from './config.js';

function read(
  entry: JsonObject,
  ofPool: JsonObject = {},
  ofLabel: JsonObject = {},
  labels: readonly LabelConfig[] = [],
) {
  const problems: string[] = [];
  const label = { name: 'small', 'cloud-image': 'debian', ...ofLabel };
  const config = readProviderConfig(
    { name: 'lab', driver: 'incus', ...entry, pools: [{ name: 'main', labels: [label], ...ofPool }] },
    {
      labels: new Map(labels.map((one) => [one.name, one])),
      diskimages: new Map(),
      problem: (path, message, severity = 'error') => problems.push(`${severity} ${path.join('.')}: ${message}`),
    },
  );
  return { config, label: config.pools.get('main')?.labels.get('small'), problems };
}

it('has the defaults of the reference', () => {
  const { config, label, problems } = read({ 'cloud-images': [{ name: 'debian' }] });

  expect(problems).toEqual([]);
  expect(config).toMatchObject({ project: 'default', imageType: 'container', cpuOvercommit: 4, memoryOvercommit: 1 });
  expect(config.images?.format).toBe('tar');
  expect(config.connection.address).toBeUndefined();
  expect(config.cloudImages.get('debian')).toMatchObject({ alias: 'debian', server: undefined });
  expect(label).toMatchObject({ type: 'container', profiles: undefined, nesting: false, ephemeral: false });
});

it('refuses ephemeral instances for labels that keep stopped nodes', () => {
  const keep = { name: 'small', minReady: 1, maxReadyAgeMs: 0, keep: 'stopped' as const };

  const refused = read({}, {}, { ephemeral: true }, [keep]).problems;

  expect(refused).toEqual([
    'error pools.0.labels.0.ephemeral: ' +
      'an ephemeral instance is deleted when it stops, and its label has "keep: stopped"',
  ]);
  expect(read({}, {}, {}, [keep]).problems).toEqual([]);
});

it('uploads disks of virtual machines to a provider of these', () => {
  expect(read({ type: 'virtual-machine' }).config.images?.format).toBe('qcow2');
  expect(read({ type: 'virtual-machine' }).label?.type).toBe('virtual-machine');
  expect(read({ type: 'virtual-machine' }, {}, { type: 'container' }).label?.type).toBe('container');
});

it('takes network and storage pool from the label, its pool or the provider', () => {
  const provider = { network: 'a', 'storage-pool': 'x' };

  expect(read(provider).label).toMatchObject({ network: 'a', storagePool: 'x' });
  expect(read(provider, { network: 'b' }).label).toMatchObject({ network: 'b', storagePool: 'x' });
  expect(read(provider, { network: 'b' }, { network: 'c' }).label).toMatchObject({ network: 'c' });
});

it('gives values of configuration and devices as text, as the API takes them', () => {
  const { label } = read(
    {},
    {},
    { config: { 'limits.processes': 5, 'boot.autostart': false }, devices: { d: { mtu: 9 } } },
  );

  expect(label?.config).toEqual({ 'limits.processes': '5', 'boot.autostart': 'false' });
  expect(label?.devices).toEqual({ d: { mtu: '9' } });
});

it('reports certificates that are missing, or without effect', () => {
  expect(read({ address: 'https://a:8443' }).problems).toEqual([
    'error address: an https address needs client-certificate and client-key',
  ]);
  expect(read({ address: 'unix:/x', 'trust-token': 't' }).problems).toEqual([
    'warning address: certificates and trust-token have no effect on a Unix socket',
  ]);
});
