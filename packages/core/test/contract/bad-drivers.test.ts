import { afterEach, describe, expect, it } from 'vitest';
import type { Driver, Provider } from '../../src/index.js';
import { Harness } from '../../src/testing/harness/harness.js';
import type { TestLauncher } from '../../src/testing/harness/launcher.js';
import { honestDriver, validConfig } from './honest-driver.js';
import { TestCloud } from './test-cloud.js';

const HANGS = new Promise<never>(() => undefined);
let harness: Harness | undefined;

afterEach(async () => {
  await harness?.close();
});

/** Prepares a launcher with an honest provider `test` and a modified provider `bad`, without starting it. */
async function setUp(change: (provider: Provider) => Partial<Provider>, driverChanges: Partial<Driver> = {}) {
  let cloud = new TestCloud();
  const current = () => cloud;
  const honest = honestDriver(current);
  const base = honestDriver(current, { driver: { name: 'bad' } });
  const bad: Driver = {
    ...base,
    getProvider: (config, context) => {
      const provider = base.getProvider(config, context);
      return changed(provider, change(provider));
    },
    ...driverChanges,
  };
  const badEntry = {
    ...validConfig,
    name: 'bad',
    driver: 'bad',
    pools: [{ name: 'main', 'host-key-checking': false, labels: [{ name: 'odd', 'cloud-image': 'debian' }] }],
  };
  harness = await Harness.open({
    driver: honest,
    otherDrivers: [bad],
    file: { providers: [badEntry] },
    cloud: () => (cloud = new TestCloud()),
    validConfig,
    invalidConfigs: {},
  });
  return { harness, launcher: await harness.makeLauncher() };
}

function changed(provider: Provider, changes: Partial<Provider>): Provider {
  return new Proxy(provider, {
    get(from, key) {
      const value = (key in changes ? Reflect.get(changes, key) : Reflect.get(from, key)) as unknown;
      return typeof value === 'function' ? (value.bind(from) as unknown) : value;
    },
  });
}

async function start(harness: Harness, { launcher }: TestLauncher): Promise<void> {
  await harness.during(launcher.start(), 'the launcher starts', 60_000);
}

/** Expects the other provider to work as usual. */
async function expectOthersServed(harness: Harness): Promise<void> {
  const taken = await harness.take(['small']);
  await harness.giveBack(taken);
  expect(taken.nodes[0]?.provider).toBe('test');
}

async function ends(harness: Harness, label: string): Promise<string | undefined> {
  const id = await harness.submit([label]);
  const stateOf = () => harness.history.requests.get(id)?.state;
  await harness.until(() => stateOf() === 'fulfilled' || stateOf() === 'failed', 'the request is answered', 600_000);
  return stateOf();
}

const throws = (): never => {
  throw new Error('the driver is broken');
};

describe('a driver whose provider', () => {
  it('cannot be created is reported and skipped, and retried until it can', async () => {
    let isMended = false;
    const { harness, launcher } = await setUp((provider) => (isMended ? provider : throws()));

    await start(harness, launcher);
    const [error] = launcher.launcher.providerErrors;
    await expectOthersServed(harness);
    isMended = true;
    await harness.until(() => launcher.launcher.providerErrors.length === 0, 'it is made', 120_000);

    expect(error).toEqual({ provider: 'bad', error: 'the driver is broken' });
    expect(await ends(harness, 'odd')).toBe('fulfilled');
  });

  it('is invalid is skipped, and its missing members are reported', async () => {
    const { harness, launcher } = await setUp(() => ({}), { getProvider: () => ({}) as Provider });

    await start(harness, launcher);
    await expectOthersServed(harness);

    expect(launcher.launcher.providerErrors[0]?.error).toMatch(/getProvider returned a provider without start, idle,/);
  });

  it('hangs while it starts blocks no other provider, and is used once it has started', async () => {
    let open = (): void => {};
    const gate = new Promise<void>((resolve) => (open = resolve));
    const { harness, launcher } = await setUp((provider) => ({
      start: (signal) => gate.then(() => provider.start(signal)),
    }));

    await start(harness, launcher);
    const notReady = launcher.launcher.notReady;
    const [error] = launcher.launcher.providerErrors;
    await expectOthersServed(harness);
    open();

    expect(notReady).toEqual([]);
    expect(error?.error).toMatch(/start has not ended for 30 s/);
    expect(await ends(harness, 'odd')).toBe('fulfilled');
    expect(launcher.launcher.providerErrors).toEqual([]);
  });

  it.each<[string, Partial<Provider>]>([
    ['has no handler', { getRequestHandler: throws }],
    ['gives a handler that is none', { getRequestHandler: () => ({}) as ReturnType<Provider['getRequestHandler']> }],
    ['throws when asked for images', { labelReady: throws }],
    ['says nothing about images', { labelReady: () => 'perhaps' as unknown as boolean }],
  ])('%s declines its requests', async (_what, changes) => {
    const { harness, launcher } = await setUp(() => changes);
    await start(harness, launcher);

    expect(await ends(harness, 'odd')).toBe('failed');
    await expectOthersServed(harness);
  });

  it.each<[string, (provider: Provider) => Partial<Provider>]>([
    ['throws when asked for broken labels', () => ({ errorLabels: throws })],
    ['names broken labels as a list', () => ({ errorLabels: () => ['odd'] as unknown as Set<string> })],
    ['throws when told of a deletion', () => ({ nodeDeletedNotification: throws })],
    ['throws when asked for a successor', () => ({ successorOf: throws })],
    ['knows a capacity that is no number', () => ({ labelCapacity: () => NaN })],
    ['has a negative capacity', () => ({ labelCapacity: () => -1 })],
    ['needs what is no number', ({ quota }) => ({ quota: quota && { ...bound(quota), quotaNeededByLabel: nonsense } })],
    ['needs less than nothing', needing({ instances: -1 })],
    ['needs more than anything', needing({ instances: Infinity })],
    ['hangs while it looks for leaks', () => ({ cleanupLeakedResources: () => HANGS })],
    ['throws when it looks for leaks', () => ({ cleanupLeakedResources: throws })],
  ])('%s works all the same', async (_what, change) => {
    const { harness, launcher } = await setUp(change);
    await start(harness, launcher);

    const taken = await harness.take(['odd']);
    await harness.giveBack(taken);
    await harness.until(() => [...harness.history.nodes.keys()].length === 0, 'its node is deleted', 600_000);
    await expectOthersServed(harness);
  });

  it.each<[string, () => unknown]>([
    ['does not know its limits', throws],
    ['has limits that are no numbers', () => ({ instances: 'many' })],
    ['has limits below everything', () => ({ instances: -Infinity })],
    ['promises its limits', () => Promise.resolve({ instances: 10 })],
  ])('%s lets its requests wait, and no others', async (_what, limits) => {
    const { harness, launcher } = await setUp(({ quota }) => ({
      quota: quota && { ...bound(quota), estimatedNodepoolQuota: limits as () => undefined },
    }));
    await start(harness, launcher);
    const id = await harness.submit(['odd']);
    await expectOthersServed(harness);
    await harness.pass(600_000);

    expect(harness.history.requests.get(id)?.state).toBe('pending');
    expect(
      launcher.launcher.explain({ requestId: id })?.pools.find(({ provider }) => provider === 'bad')?.text,
    ).toMatch(/limits of provider "bad" are being read/);
  });

  it('throws on a deletion is retried until the deletion succeeds', async () => {
    let failures = 3;
    const { harness, launcher } = await setUp((provider) => ({
      startNodeCleanup: (node, signal) => (failures-- > 0 ? throws() : provider.startNodeCleanup(node, signal)),
    }));
    await start(harness, launcher);
    const taken = await harness.take(['odd']);

    await harness.giveBack(taken);
    await harness.until(() => harness.history.nodes.size === 0, 'the node is deleted', 600_000);

    expect(await harness.resources.instances()).toEqual([]);
  });

  it('hangs in a deletion is retried after an hour', async () => {
    let isHung = true;
    const { harness, launcher } = await setUp((provider) => ({
      startNodeCleanup: (node, signal) => (isHung ? HANGS : provider.startNodeCleanup(node, signal)),
    }));
    await start(harness, launcher);
    await harness.giveBack(await harness.take(['odd']));
    await harness.pass(60_000);
    isHung = false;

    await harness.until(() => harness.history.nodes.size === 0, 'the node is deleted', 2 * 3_600_000);

    expect(await harness.resources.instances()).toEqual([]);
  });

  it('cannot stop does not prevent the launcher from stopping', async () => {
    const { harness, launcher } = await setUp(() => ({ idle: throws, stop: throws, join: () => HANGS }));
    await start(harness, launcher);

    await harness.stopLauncher(launcher, 20_000);

    expect(launcher.zk.state).toBe('CLOSED');
  });
});

describe('a driver whose launch', () => {
  const launching = (launch: unknown) => (provider: Provider) => ({
    getRequestHandler: (...args: Parameters<Provider['getRequestHandler']>) => ({
      ...provider.getRequestHandler(...args),
      imagesAvailable: () => true,
      launch: launch as () => never,
    }),
  });

  it.each<[string, unknown]>([
    ['throws', throws],
    ['rejects', () => Promise.reject(new Error('the driver is broken'))],
    ['gives nothing', () => Promise.resolve(undefined)],
    ['ends in a state that is none', (order: object) => Promise.resolve({ ...order, state: 'done' })],
    ['says ready and has stored nothing', (order: object) => Promise.resolve({ ...order, state: 'ready' })],
    ['gives another node', () => Promise.resolve({ state: 'ready', node: { id: '0000000099' } })],
  ])('%s has failed, and its node is deleted', async (_what, launch) => {
    const { harness, launcher } = await setUp(launching(launch));
    await start(harness, launcher);

    expect(await ends(harness, 'odd')).toBe('failed');
    await harness.until(() => harness.history.nodes.size === 0, 'the node is deleted', 600_000);
    await expectOthersServed(harness);
  });

  it('hangs fails after a day without delaying other requests', async () => {
    const { harness, launcher } = await setUp(launching(() => HANGS));
    await start(harness, launcher);
    const id = await harness.submit(['odd']);
    await expectOthersServed(harness);

    const isFailed = () => harness.history.requests.get(id)?.state === 'failed';
    await harness.until(isFailed, 'the request fails', 25 * 3_600_000);

    expect(harness.history.requests.get(id)?.launchError).toMatch(/has not ended within 86400 s/);
  });
});

function needing(need: Record<string, number>) {
  return ({ quota }: Provider) => ({ quota: quota && { ...bound(quota), quotaNeededByLabel: () => need } });
}

const nonsense = () => ({ instances: 'one' }) as unknown as Record<string, number>;

function bound(quota: NonNullable<Provider['quota']>): NonNullable<Provider['quota']> {
  return {
    quotaNeededByLabel: (label, pool) => quota.quotaNeededByLabel(label, pool),
    estimatedNodepoolQuota: () => quota.estimatedNodepoolQuota(),
    invalidateQuotaCache: () => quota.invalidateQuotaCache(),
  };
}
