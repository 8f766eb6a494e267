import { CallTracker, VirtualClock } from '@nodepool/core/testing';
import { driver } from '../src/index.js';
import { startShed } from './shed.js';

const calls = new CallTracker();
const { fetch, Response } = globalThis;

/** Reads the body as well, so that the call is complete when this resolves. */
async function whole(answer) {
  const { status, headers, body } = await answer;
  return new Response(await new Response(body).text(), { status, headers });
}

// the virtual clock stops while a call is in flight
globalThis.fetch = (url, init) => calls.track(whole(fetch(url, init)));

const label = { name: 'small', 'cloud-image': 'debian', size: 's' };
const pool = { name: 'main', labels: [label, { ...label, name: 'large', size: 'l' }] };
const entry = {
  name: 'garden',
  driver: driver.name,
  url: 'http://127.0.0.1:1',
  'launch-timeout': 300,
  'cloud-images': [{ name: 'debian', username: 'gardener', 'connection-port': 2222 }],
  pools: [pool],
};

/** An empty shed, with the connection data expected in node records. */
async function cloud() {
  const clock = new VirtualClock({ idle: () => calls.idle() });
  const shed = await startShed();
  const login = { username: 'gardener', connectionPort: 2222 };
  return {
    clock,
    url: shed.url,
    advance: (ms) => clock.advance(ms),
    list: () =>
      [...shed.machines.values()].map(({ id, status, address: interfaceIp }) => ({
        ...{ id, isReady: status === 'on', login: { ...login, interfaceIp } },
      })),
    failNext: (kind) => shed.fail(kind),
    endMachine: (id, how) => shed.endMachine(id, how),
    impossible: ['capacity', 'error-state', 'late-listing'],
    limits: { instances: 10 },
    stop: () => shed.stop(),
  };
}

/** Setup of the contract kit, without the test runner. */
export const contract = {
  driver,
  cloud,
  validConfig: ({ url }) => ({ ...entry, url }),
  invalidConfigs: {
    'an entry without a URL': { name: 'garden', driver: driver.name, pools: [pool] },
    'a label without a size': { ...entry, pools: [{ ...pool, labels: [{ name: 'small', 'cloud-image': 'debian' }] }] },
  },
  packageFile: new URL('../package.json', import.meta.url),
};
