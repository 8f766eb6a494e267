import { describe, it } from 'node:test';
import { CallTracker, testDriverContract, VirtualClock } from '@nodepool/core/testing';
import { createDriver } from '../src/index.js';
import { FakeCloud, MAX_MACHINES } from './fake-cloud.js';

const calls = new CallTracker();

/** The virtual clock stops while a call is in flight. */
const driver = createDriver({ fetch: (url, init) => calls.track(whole(fetch(url, init))) });

/** Reads the body as well, so that the call is complete when this resolves. */
async function whole(answer: Promise<Response>): Promise<Response> {
  const { status, headers, body } = await answer;
  const text = await new Response(body).text();
  return new Response(text, { status, headers });
}

const label = { name: 'small', 'cloud-image': 'debian', size: 's' };
const pool = { name: 'main', labels: [label, { ...label, name: 'large', size: 'l' }] };
const entry = {
  name: 'garden',
  driver: driver.name,
  url: 'http://127.0.0.1:1',
  'launch-timeout': 300,
  'cloud-images': [{ name: 'debian', username: 'zuul' }],
  pools: [pool],
};

testDriverContract({
  driver,
  async cloud() {
    const clock = new VirtualClock({ idle: () => calls.idle() });
    const cloud = await FakeCloud.start(clock);
    return {
      clock,
      url: cloud.url,
      advance: (ms: number) => clock.advance(ms),
      list: () => cloud.list(),
      failNext: (kind) => cloud.failNext(kind),
      endMachine: (id, how) => cloud.endMachine(id, how),
      impossible: ['late-listing' as const], // its lists do not lag
      limits: { instances: MAX_MACHINES },
      stop: () => cloud.stop(),
    };
  },
  validConfig: ({ url }) => ({ ...entry, url }),
  invalidConfigs: {
    'an entry without a URL': { name: 'garden', driver: driver.name, pools: [pool] },
    'a URL that is none': { ...entry, url: 'the cloud' },
    'a label without a size': { ...entry, pools: [{ ...pool, labels: [{ name: 'small', 'cloud-image': 'debian' }] }] },
    'an image that is not defined': { ...entry, pools: [{ ...pool, labels: [{ ...label, 'cloud-image': 'plan9' }] }] },
  },
  packageFile: new URL('../../package.json', import.meta.url),
  part: process.argv[2],
  test: { describe, it },
});
