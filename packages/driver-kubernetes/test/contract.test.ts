import { describe, it } from 'vitest';
import { testDriverContract } from '@nodepool/core/testing';
import { createKubernetesDriver } from '../src/index.js';
import { fakeCloud, trackedHttp, Traffic } from './fake-cloud.js';

const traffic = new Traffic();
const server = { url: '' };

const driver = createKubernetesDriver('kubernetes', {
  connect: (_config, { clock }) => trackedHttp(server.url, clock, traffic),
});

const pod = { name: 'small', type: 'pod', image: 'debian', cpu: 1, memory: 512 };
const pool = {
  name: 'main',
  labels: [pod, { name: 'space', type: 'namespace' }, { ...pod, name: 'large', cpu: 4, 'memory-limit': 4096 }],
};
const entry = { name: 'cluster', driver: 'kubernetes', context: 'fake', 'schedule-timeout': 10, pools: [pool] };

testDriverContract({
  driver,
  async cloud() {
    const cloud = await fakeCloud('kubernetes', traffic);
    server.url = cloud.fake.url;
    return cloud;
  },
  validConfig: entry,
  invalidConfigs: {
    'a label without a type': { ...entry, pools: [{ ...pool, labels: [{ name: 'small', image: 'debian' }] }] },
    'a label of an unknown type': { ...entry, pools: [{ ...pool, labels: [{ ...pod, type: 'machine' }] }] },
    'a specification that is no map': { ...entry, pools: [{ ...pool, labels: [{ ...pod, spec: 'x' }] }] },
  },
  packageFile: new URL('../package.json', import.meta.url),
  test: { describe, it },
});
