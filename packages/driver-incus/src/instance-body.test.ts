import { expect, it } from 'vitest';
import type { JsonObject } from '@nodepool/core';
import { readProviderConfig, type IncusProviderConfig } from './config.js';
import { instanceBody } from './instance-body.js';
import { TAGS } from '../test/support/daemon.js';

function bodyOf(label: JsonObject, provider: JsonObject = {}, uploaded?: string): JsonObject {
  const config: IncusProviderConfig = readProviderConfig(
    {
      ...{ name: 'lab', driver: 'incus', ...provider },
      'cloud-images': [
        { name: 'debian', username: 'root' },
        { name: 'remote', 'image-alias': 'debian/12', 'image-server': 'https://images.example.org' },
      ],
      pools: [{ name: 'main', labels: [{ name: 'a', ...label }] }],
    },
    { labels: new Map(), diskimages: new Map(), problem: () => undefined },
  );
  const read = config.pools.get('main')?.labels.get('a');
  if (!read) throw new Error('there is no such label');
  const image = config.cloudImages.get(read.cloudImage ?? '');
  const order = { label: read, metadata: TAGS, imageExternalId: uploaded };
  return instanceBody({ order, name: 'np1', attempt: 'x', image, start: false });
}

it('asks for a container of the image, with the tags of its node', () => {
  expect(bodyOf({ 'cloud-image': 'debian' })).toEqual({
    ...{ name: 'np1', type: 'container', ephemeral: false, devices: {} },
    config: {
      'user.nodepool.attempt': 'x',
      'user.nodepool.database_id': 'db',
      'user.nodepool.node_id': '0000000001',
      'user.nodepool.pool_name': 'main',
      'user.nodepool.provider_name': 'lab',
    },
    source: { type: 'image', alias: 'debian' },
  });
});

it('has all options of the label', () => {
  const label = {
    ...{ 'cloud-image': 'debian', type: 'virtual-machine', cpu: 2, memory: 1_024, disk: 20, nesting: true },
    ...{ ephemeral: true, profiles: ['ci'], network: 'br0', 'storage-pool': 'fast', 'user-data': '#cloud-config' },
    ...{ config: { 'limits.processes': 500 }, devices: { gpu: { type: 'gpu' } } },
  };

  expect(bodyOf(label)).toMatchObject({
    ...{ type: 'virtual-machine', ephemeral: true, profiles: ['ci'] },
    config: {
      ...{ 'limits.cpu': '2', 'limits.memory': '1024MiB', 'limits.processes': '500', 'security.nesting': 'true' },
      'cloud-init.user-data': '#cloud-config',
    },
    devices: {
      eth0: { type: 'nic', name: 'eth0', network: 'br0' },
      root: { type: 'disk', path: '/', pool: 'fast', size: '20GiB' },
      gpu: { type: 'gpu' },
    },
  });
});

it('lets no configuration key of a label replace the tags', () => {
  const config = { 'user.nodepool.database_id': 'other' };

  expect(bodyOf({ 'cloud-image': 'debian', config })['config']).toMatchObject({ 'user.nodepool.database_id': 'db' });
});

it('starts from an uploaded image, a copy, or an image of another server', () => {
  expect(bodyOf({ diskimage: 'debian' }, {}, 'f'.repeat(64))['source']).toEqual({
    type: 'image',
    fingerprint: 'f'.repeat(64),
  });
  expect(bodyOf({ 'clone-from': 'golden/ready' })['source']).toEqual({
    ...{ type: 'copy', source: 'golden/ready', instance_only: true },
  });
  expect(bodyOf({ 'clone-from': 'golden/ready' })['profiles']).toEqual(['default']);
  expect(bodyOf({ 'cloud-image': 'remote' })['source']).toEqual({
    ...{ type: 'image', alias: 'debian/12', mode: 'pull', server: 'https://images.example.org' },
    protocol: 'simplestreams',
  });
});

it('refuses a disk size without a storage pool, which the API cannot express', () => {
  expect(() => bodyOf({ 'cloud-image': 'debian', disk: 5 })).toThrow(/label "a": "disk" needs a storage pool/);
  expect(bodyOf({ 'cloud-image': 'debian', disk: 5 }, { 'storage-pool': 'default' })['devices']).toMatchObject({
    root: { pool: 'default', size: '5GiB' },
  });
});
