import { describe, it } from 'vitest';
import { FakeCompute, TOKEN } from '@nodepool/fake-compute';
import { CallTracker, testDriverContract, VirtualClock } from '@nodepool/core/testing';
import { COMPUTE_V1, createGceDriver, createHttp, type Http } from '../src/index.js';

const PAGE_SIZE = 4;
const calls = new CallTracker();

/** Time stands still while an answer is on its way. */
const driver = createGceDriver({
  connect: ({ endpoint }, { clock }) => {
    const credentials = {
      headers: () => Promise.resolve({ authorization: `Bearer ${TOKEN}` }),
      forget: () => undefined,
    };
    const http: Http = createHttp({ endpoint, clock, credentials });
    return { ...http, call: (call, signal) => calls.track(http.call(call, signal)) };
  },
});

const label = { name: 'small', 'cloud-image': 'debian', 'instance-type': 'e2-standard-2' };
const pool = {
  name: 'main',
  'host-key-checking': false,
  labels: [
    label,
    { ...label, name: 'large', 'instance-type': ['n2-standard-8', 'e2-standard-8'], 'volume-size': 50, spot: true },
  ],
};
const entry = {
  name: 'google',
  driver: 'gce',
  project: 'test-project',
  region: 'us-central1',
  endpoint: 'http://127.0.0.1:1/compute/v1',
  rate: 0,
  'launch-timeout': 600,
  'cloud-images': [{ name: 'debian', username: 'zuul', 'image-project': 'debian-cloud', 'image-family': 'debian-12' }],
  pools: [pool],
};

testDriverContract({
  driver,
  async cloud() {
    const clock = new VirtualClock({ idle: () => calls.idle() });
    const fake = await FakeCompute.start({
      description: COMPUTE_V1,
      clock,
      bootMs: 5_000,
      deleteMs: 3_000,
      // a long poll would wait for a clock that waits for its answer
      waitMs: 0,
      pageSize: PAGE_SIZE,
      quotas: { INSTANCES: 40, CPUS: 100, N2_CPUS: 64, IN_USE_ADDRESSES: 30, DISKS_TOTAL_GB: 2_000 },
    });
    fake.setFamily('debian-cloud', 'debian-12', 'debian-12-v1');
    return {
      clock,
      fake,
      advance: (ms: number) => clock.advance(ms),
      list: () => fake.instances.map(({ zone, name, status }) => ({ id: name, zone, isReady: status === 'RUNNING' })),
      failNext: (kind) => {
        if (kind !== 'late-listing') fake.failures.queue(kind);
      },
      // the name is chosen, and stored, before anything is made
      impossible: ['late-listing'],
      endMachine: (name, how) => fake.endMachine(name, how),
      limits: { instances: 40, N2_CPUS: 64 },
      pageSize: PAGE_SIZE,
      async stop() {
        await fake.stop();
        if (fake.violations.length > 0) throw new Error(`not as Google describes it: ${fake.violations.join('\n')}`);
      },
    };
  },
  validConfig: ({ fake }) => ({ ...entry, endpoint: fake.endpoint }),
  invalidConfigs: {
    'an entry without a project': { ...entry, project: undefined },
    'a label without a machine type': { ...entry, pools: [{ ...pool, labels: [{ ...label, 'instance-type': [] }] }] },
    'an image that is not defined': { ...entry, pools: [{ ...pool, labels: [{ ...label, 'cloud-image': 'plan9' }] }] },
    'an override that Google does not know': {
      ...entry,
      pools: [{ ...pool, labels: [{ ...label, 'instance-overrides': { scheduling: { preemptable: true } } }] }],
    },
    'an override of what the driver says itself': {
      ...entry,
      pools: [{ ...pool, labels: [{ ...label, 'instance-overrides': { name: 'mine' } }] }],
    },
  },
  packageFile: new URL('../package.json', import.meta.url),
  test: { describe, it },
});
