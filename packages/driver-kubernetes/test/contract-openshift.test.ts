import { describe, it } from 'vitest';
import { testDriverContract } from '@nodepool/core/testing';
import { createKubernetesDriver } from '../src/index.js';
import { fakeCloud, trackedHttp, Traffic } from './fake-cloud.js';

const traffic = new Traffic();
const server = { url: '' };

const driver = createKubernetesDriver('openshift', {
  connect: (_config, { clock }) => trackedHttp(server.url, clock, traffic),
});

const pod = { name: 'small', type: 'pod', image: 'debian', cpu: 1, memory: 512 };
const pool = {
  name: 'main',
  labels: [pod, { name: 'space', type: 'project' }, { ...pod, name: 'large', cpu: 4, 'memory-limit': 4096 }],
};
const entry = { name: 'cluster', driver: 'openshift', context: 'fake', 'schedule-timeout': 10, pools: [pool] };

testDriverContract({
  driver,
  async cloud() {
    const cloud = await fakeCloud('openshift', traffic);
    server.url = cloud.fake.url;
    return cloud;
  },
  validConfig: entry,
  invalidConfigs: {
    'an entry without a context': { ...entry, context: undefined },
    'a label without a type': { ...entry, pools: [{ ...pool, labels: [{ name: 'small', image: 'debian' }] }] },
    'a label of a type of another driver': { ...entry, pools: [{ ...pool, labels: [{ ...pod, type: 'namespace' }] }] },
    'a specification that is no map': { ...entry, pools: [{ ...pool, labels: [{ ...pod, spec: 'x' }] }] },
  },
  packageFile: new URL('../../driver-openshift/package.json', import.meta.url),
  test: { describe, it },
});
