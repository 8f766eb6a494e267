import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, it } from 'vitest';
import { testDriverContract } from '@nodepool/core/testing';
import { createOpenStackDriver } from '../src/index.js';
import { ContractFakeOpenStack } from './support/contract-cloud.js';
import { InProcessTransport } from './support/in-process.js';

const dir = mkdtempSync(join(tmpdir(), 'nodepool-openstack-'));
const clouds = join(dir, 'clouds.yaml');
let current = new ContractFakeOpenStack();
writeFileSync(clouds, JSON.stringify({ clouds: { fake: current.cloud.entry } }));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const driver = createOpenStackDriver({
  transport: () => new InProcessTransport(() => current.cloud),
  env: { OS_CLIENT_CONFIG_FILE: clouds },
});

const labels = [
  { name: 'small', 'cloud-image': 'debian', 'min-ram': 2_048 },
  { name: 'large', 'cloud-image': 'debian', 'flavor-name': 'm1.large' },
];
const pool = {
  name: 'main',
  'host-key-checking': false,
  networks: ['public'],
  'availability-zones': ['north', 'south'],
  labels,
};
const entry = {
  name: 'sky',
  driver: 'openstack',
  cloud: 'fake',
  rate: 0,
  'launch-timeout': 600,
  'cloud-images': [{ name: 'debian', username: 'zuul' }],
  pools: [pool],
};
const withLabel = (label: Record<string, unknown>) => ({ ...entry, pools: [{ ...pool, labels: [label] }] });

testDriverContract({
  driver,
  cloud: () => (current = new ContractFakeOpenStack()),
  validConfig: entry,
  invalidConfigs: {
    'an entry without a cloud': { name: 'sky', driver: 'openstack', pools: [pool] },
    'a label without an image': withLabel({ name: 'small', 'min-ram': 1 }),
    'a label with two images': withLabel({ ...labels[0], diskimage: 'debian' }),
    'a label without a size': withLabel({ name: 'small', 'cloud-image': 'debian' }),
    'a cloud image that is not defined': withLabel({ ...labels[0], 'cloud-image': 'plan9' }),
    'a cloud image with id and name': {
      ...entry,
      'cloud-images': [{ name: 'debian', 'image-id': 'a', 'image-name': 'b' }],
    },
    'a key that was removed': { ...entry, 'hostname-format': '{label.name}' },
  },
  packageFile: new URL('../package.json', import.meta.url),
  test: { describe, it },
});
