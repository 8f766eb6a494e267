import { describe, it } from 'vitest';
import { testDriverContract } from '@nodepool/core/testing';
import { createKubernetesDriver } from '../src/index.js';
import { fakeCloud, trackedHttp, Traffic } from './fake-cloud.js';

const traffic = new Traffic();
const server = { url: '' };

const driver = createKubernetesDriver('openshiftpods', {
  connect: (_config, { clock }) => trackedHttp(server.url, clock, traffic),
});

const pod = { name: 'small', image: 'debian' };
const pool = {
  name: 'main',
  'service-account': 'default',
  labels: [pod, { ...pod, name: 'Large_2', cpu: 4, memory: 2048 }],
};
const entry = { name: 'cluster', driver: 'openshiftpods', context: 'fake', 'schedule-timeout': 10, pools: [pool] };

testDriverContract({
  driver,
  async cloud() {
    const cloud = await fakeCloud('openshiftpods', traffic);
    server.url = cloud.fake.url;
    return cloud;
  },
  validConfig: entry,
  invalidConfigs: {
    'an entry without a context': { ...entry, context: undefined },
    'a label with a type': { ...entry, pools: [{ ...pool, labels: [{ ...pod, type: 'namespace' }] }] },
    'a specification that is no map': { ...entry, pools: [{ ...pool, labels: [{ ...pod, spec: 'x' }] }] },
    'an environment variable without a name': {
      ...entry,
      pools: [{ ...pool, labels: [{ ...pod, env: [{ value: 'a' }] }] }],
    },
  },
  packageFile: new URL('../../driver-openshiftpods/package.json', import.meta.url),
  test: { describe, it },
});
