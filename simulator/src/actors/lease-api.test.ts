import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  encodeLeaseToken,
  leaseSlotsPath,
  leaseTokenPath,
  LEASE_TOKENS_ROOT,
  newLeaseToken,
  signLeaseToken,
} from '@nodepool/zk-protocol';
import { createHash } from 'node:crypto';
import { TOKEN_KEY } from '../fleets/config.js';
import { StaticFleet } from '../fleets/static-fleet.js';
import { SimulatedProcess } from '../world/process.js';
import { World } from '../world/world.js';
import { SimulatedLauncher } from './launcher.js';
import type { LeaseApi } from './lease-api.js';

const BODY = { labels: ['small'], ttl: 60 };
let world: World;
let launcher: SimulatedLauncher;

beforeEach(async () => {
  world = new World(1, false);
  const fleet = new StaticFleet('rack1', ['small'], world.random.fork());
  world.drivers.set(fleet.driver.name, fleet.driver);
  const spec = { labels: [{ name: 'small' }], maxHoldAgeMs: 0, tenantLimits: new Map(), providers: [fleet.entry()] };
  launcher = new SimulatedLauncher(world, 'launcher1', spec);
  world.launcherCount = 1;
  launcher.start();
  void storeTokens();
  await world.run(15_000);
});
afterEach(() => world.restore());

/** Stores a token that is signed with the key of the launchers, and one that is not. */
async function storeTokens(): Promise<void> {
  const { zk } = new SimulatedProcess(world, 'operator', world.server);
  await zk.whenConnected();
  await zk.ensurePath(LEASE_TOKENS_ROOT);
  const hash = createHash('sha256').update('secret').digest('hex');
  const rights = {
    labels: ['*'],
    maxTtlMs: 3_600_000,
    maxNodes: 1,
    tenantName: null,
    highestPriority: 1,
    admin: false,
  };
  for (const [name, key] of [
    ['known', TOKEN_KEY],
    ['forged', 'x'.repeat(64)],
  ] as const) {
    await zk.ensurePath(leaseSlotsPath(name));
    const token = newLeaseToken({ ...rights, name, owner: name, hash, endTimeMs: null }, world.clock.now());
    await zk.create(leaseTokenPath(name), encodeLeaseToken(signLeaseToken(token, key)));
  }
}

/** The answer of a call, or its refusal. */
async function answerOf<T>(act: (api: LeaseApi) => Promise<T>): Promise<T | string> {
  let answer: T | string = 'none';
  const call = async () => (launcher.api ? act(launcher.api) : 'it does not run');
  call().then(
    (found) => (answer = found),
    (error: unknown) => (answer = (error as { code: string }).code),
  );
  await world.run(20_000, () => answer !== 'none');
  return answer;
}

it('gives one lease for one key, lets it be renewed, and says when it is over', async () => {
  const lease = await answerOf((api) => api.create('known.secret', 'a', BODY));
  const again = await answerOf((api) => api.create('known.secret', 'a', BODY));
  if (typeof lease === 'string') throw new Error(lease);
  const { id } = lease;

  expect(again).toMatchObject({ id });
  expect(await answerOf((api) => api.get('known.secret', id, 5_000))).toMatchObject({ id, state: 'active' });
  expect(await answerOf((api) => api.renew('known.secret', id, 30_000))).toMatchObject({ id, state: 'active' });
  expect(await answerOf((api) => api.list('known.secret', 'active'))).toMatchObject([{ id }]);
  expect(await answerOf((api) => api.end('known.secret', id))).toMatchObject({ state: 'ended' });
  expect(await answerOf((api) => api.renew('known.secret', id, 30_000))).toBe('over');
});

it('answers nothing from memory while its launcher starts', async () => {
  launcher.crash();
  launcher.start();
  await world.run(1_000, () => launcher.api !== undefined);

  expect(await answerOf((api) => api.list('known.secret', 'all'))).toBe('starting');
});

it('refuses what the web API refuses', async () => {
  expect(await answerOf((api) => api.create('known.wrong', 'a', BODY))).toBe('bad-token');
  expect(await answerOf((api) => api.create('forged.secret', 'a', BODY))).toBe('token-not-signed');
  expect(await answerOf((api) => api.create('known.secret', 'a', { labels: ['none'] }))).toBe('unknown-label');
  expect(await answerOf((api) => api.create('known.secret', 'b', { labels: ['small', 'small'] }))).toBe(
    'too-many-nodes',
  );
  launcher.process?.link.break();
  if (launcher.process) launcher.process.weather.refusal = 1;
  await world.run(15_000);
  expect(await answerOf((api) => api.list('known.secret', 'all'))).toBe('zookeeper');
});
