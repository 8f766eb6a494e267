import type { JsonObject } from '@nodepool/core';
import { expect, it } from 'vitest';
import { readProviderConfig } from './config.js';

const label = { name: 'small', 'cloud-image': 'debian', 'instance-type': 'e2-small' };

function read(entry: JsonObject, ofPool: JsonObject = {}, ofLabel: JsonObject = {}) {
  const problems: string[] = [];
  const config = readProviderConfig(
    {
      ...{ name: 'google', driver: 'gce', project: 'p', region: 'us-central1' },
      'cloud-images': [{ name: 'debian', 'image-id': 'i' }],
      ...entry,
      pools: [{ name: 'main', labels: [{ ...label, ...ofLabel }], ...ofPool }],
    },
    {
      labels: new Map(),
      diskimages: new Map(),
      problem: (path, message) => problems.push(`${path.join('.')}: ${message}`),
    },
  );
  const pool = config.pools.get('main');
  return { config, pool, label: pool?.labels.get('small'), problems };
}

it('has the defaults of the reference', () => {
  const { config, label: own, pool, problems } = read({});

  expect(problems).toEqual([]);
  expect(config).toMatchObject({
    ...{ requestsPerSecond: 2, bootTimeoutMs: 60_000, launchTimeoutMs: 3_600_000, launchRetries: 3 },
    ...{ zones: [], endpoint: 'https://compute.googleapis.com/compute/v1', credentials: undefined },
  });
  expect(pool).toMatchObject({ useInternalIp: false, maxServers: Infinity });
  expect(own).toMatchObject({
    ...{ machineTypes: ['e2-small'], volumeType: 'pd-standard', volumeGib: 10, hostKeyChecking: true },
    ...{ spot: false, maxRunSeconds: undefined, externalIp: true, networkTags: [], guestHostKeys: false },
  });
  expect(config.cloudImages.get('debian')).toMatchObject({
    ...{ connectionType: 'ssh', connectionPort: 22, pythonPath: 'auto' },
  });
});

it.each([
  ['us-central1-a', ['us-central1-a']],
  [
    ['us-central1-a', 'us-central1-b'],
    ['us-central1-a', 'us-central1-b'],
  ],
])('takes a zone or several: %j', (zone, zones) => {
  expect(read({ zone }).config.zones).toEqual(zones);
});

it('knows no limit of calls with a rate of 0', () => {
  expect(read({ rate: 0 }).config.requestsPerSecond).toBe(0);
});

it.each(['europe-west1-b', 'us-central10-a', 'us-central1'])('refuses %s as a zone of us-central1', (zone) => {
  expect(read({ zone }).problems).toEqual([expect.stringMatching(/^zone: expected zones of region "us-central1"/)]);
});

it.each<JsonObject>([{ name: 'debian' }, { name: 'debian', 'image-project': 'p' }])(
  'refuses an image without a source: %j',
  (image) => {
    const { problems } = read({ 'cloud-images': [image] });

    expect(problems).toEqual([expect.stringMatching(/^cloud-images\.0: cloud image "debian" names no image/)]);
  },
);

it('takes values that the label lacks from the pool', () => {
  const ofPool = { network: 'corp', 'network-tags': ['a'], 'external-ip': false, 'service-account': 's' };

  const { label: own } = read({}, ofPool, { 'network-tags': ['b'], 'external-ip': true });

  expect(own).toMatchObject({ network: 'corp', networkTags: ['b'], externalIp: true, serviceAccount: 's' });
});

it('reads published host keys itself, and only where keys are wanted', () => {
  const source = { 'host-key-source': 'guest-attributes' };

  expect(read({}, source).label).toMatchObject({ guestHostKeys: true, hostKeyChecking: false });
  expect(read({}, { ...source, 'host-key-checking': false }).label).toMatchObject({ guestHostKeys: false });
  expect(read({}, source, { 'host-key-source': 'scan' }).label).toMatchObject({ hostKeyChecking: true });
});
