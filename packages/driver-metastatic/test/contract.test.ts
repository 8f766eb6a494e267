import { describe, it } from 'vitest';
import { testDriverContract } from '@nodepool/core/testing';
import { createFakeDriver } from '@nodepool/driver-fake';
import { driver } from '../src/index.js';
import { SlotCloud } from './contract-cloud.js';

const settings = { 'create-time': 5, 'delete-time': 3 };
let current = new SlotCloud(settings);

const fakeDriver = createFakeDriver({ connect: (_config, { clock }) => current.connect(clock) });

const backing = {
  name: 'sky',
  driver: 'fake',
  // less than the kit allows for cleaning up: a launch that hangs is not given up with the request for its slot
  'launch-timeout': 120,
  'cloud-images': [{ name: 'debian', username: 'zuul' }],
  pools: [
    {
      name: 'main',
      'host-key-checking': false,
      labels: [
        { name: 'big', 'cloud-image': 'debian', 'min-ram': 2048 },
        { name: 'huge', 'cloud-image': 'debian', 'flavor-name': 'large' },
      ],
    },
  ],
};
const small = { name: 'small', 'backing-label': 'big', 'max-parallel-jobs': 2, 'grace-time': 30 };
const pool = { name: 'main', labels: [small, { name: 'large', 'backing-label': 'huge', 'host-key-checking': true }] };
const entry = { name: 'slots', driver: 'metastatic', pools: [pool] };
const withLabel = (changes: object) => ({ ...entry, pools: [{ ...pool, labels: [{ ...small, ...changes }] }] });

testDriverContract({
  driver,
  cloud: () => (current = new SlotCloud(settings)),
  validConfig: entry,
  invalidConfigs: {
    'a pool without a name': { ...entry, pools: [{ labels: [] }] },
    'a label without a backing label': { ...entry, pools: [{ ...pool, labels: [{ name: 'small' }] }] },
    'a label on slots of its own': withLabel({ 'backing-label': 'small' }),
    'a machine without slots': withLabel({ 'max-parallel-jobs': 0 }),
    'a machine that is kept longer than it may live': withLabel({ 'min-retention-time': 60, 'max-age': 30 }),
    'labels that treat one machine differently': {
      ...entry,
      pools: [{ ...pool, labels: [small, { ...small, name: 'large', 'grace-time': 31 }] }],
    },
  },
  packageFile: new URL('../package.json', import.meta.url),
  file: { providers: [backing] },
  otherDrivers: [fakeDriver],
  test: { describe, it },
});
