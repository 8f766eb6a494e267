import { describe, it } from 'vitest';
import { testDriverContract } from '@nodepool/core/testing';
import { createFakeDriver } from '../src/index.js';
import { ContractFakeCloud } from './contract-cloud.js';

let current = new ContractFakeCloud({});

const driver = createFakeDriver({ connect: (_config, { clock }) => current.connect(clock) });

const pool = {
  name: 'main',
  'host-key-checking': false,
  'availability-zones': ['north', 'south'],
  labels: [
    { name: 'small', 'cloud-image': 'debian', 'min-ram': 2048 },
    { name: 'large', 'cloud-image': 'debian', 'flavor-name': 'large' },
  ],
};
const settings = {
  'create-time': 5,
  'delete-time': 3,
  'availability-zones': ['north', 'south'],
  quota: { instances: 20 },
};
const entry = {
  name: 'sky',
  driver: 'fake',
  'launch-timeout': 600,
  'cloud-images': [{ name: 'debian', username: 'zuul' }],
  pools: [pool],
  'cloud-settings': settings,
};

testDriverContract({
  driver,
  cloud: () => (current = new ContractFakeCloud(settings)),
  validConfig: entry,
  invalidConfigs: {
    'a pool without a name': { ...entry, pools: [{ labels: [] }] },
    'a label without a name': { ...entry, pools: [{ ...pool, labels: [{ 'cloud-image': 'debian' }] }] },
    'a failure rate above one': { ...entry, 'cloud-settings': { failures: { quota: 2 } } },
    'a cloud image that is not defined': {
      ...entry,
      pools: [{ ...pool, labels: [{ name: 'small', 'cloud-image': 'plan9' }] }],
    },
  },
  packageFile: new URL('../package.json', import.meta.url),
  test: { describe, it },
});
