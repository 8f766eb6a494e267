import { afterEach, describe, expect, it } from 'vitest';
import type { Driver, ProviderContext } from '../../src/index.js';
import { currentDriverScope, type DriverScope } from '../../src/launcher/index.js';
import { Harness } from '../../src/testing/harness/harness.js';
import type { TestLauncher } from '../../src/testing/harness/launcher.js';
import { honestDriver, validConfig } from './honest-driver.js';
import { TestCloud } from './test-cloud.js';

let harness: Harness | undefined;
afterEach(() => harness?.close());

type Started = (context: ProviderContext) => void;

/** Prepares a launcher with an honest provider `test` and a provider `bad`, with a callback for each new provider. */
async function setUp(started: Started): Promise<{ harness: Harness; launcher: TestLauncher; made: () => number }> {
  let cloud = new TestCloud();
  let made = 0;
  const base = honestDriver(() => cloud, { driver: { name: 'bad' } });
  const bad: Driver = {
    ...base,
    getProvider: (config, context) => {
      made++;
      const provider = base.getProvider(config, context);
      const start = provider.start.bind(provider);
      provider.start = async (signal) => {
        started(context);
        await start(signal);
      };
      return provider;
    },
  };
  const pools = [{ name: 'main', 'host-key-checking': false, labels: [{ name: 'odd', 'cloud-image': 'debian' }] }];
  harness = await Harness.open({
    driver: honestDriver(() => cloud),
    otherDrivers: [bad],
    file: { providers: [{ ...validConfig, name: 'bad', driver: 'bad', pools }] },
    cloud: () => (cloud = new TestCloud()),
    validConfig,
    invalidConfigs: {},
  });
  return { harness, launcher: await harness.startLauncher(), made: () => made };
}

const names = (scopes: (DriverScope | undefined)[]) => scopes.map((scope) => scope?.provider);

describe('asynchronous work is attributed to the driver that started it', () => {
  it('in timers and in promises that are not awaited', async () => {
    const scopes: (DriverScope | undefined)[] = [];
    const note = () => void scopes.push(currentDriverScope());
    let ran = (): void => {};
    const timer = new Promise<void>((resolve) => (ran = resolve));
    await setUp(() => {
      setTimeout(() => {
        note();
        ran();
      }, 1);
      void Promise.resolve().then(note);
    });

    await timer;

    expect(names(scopes)).toEqual(['bad', 'bad']);
  });
});

describe('a driver with an uncaught error', () => {
  it('has its own provider restarted, and no other', async () => {
    const scopes: DriverScope[] = [];
    const { harness, launcher, made } = await setUp(() => void scopes.push(currentDriverScope() as DriverScope));
    const healthy = launcher.provider;

    scopes[0]?.fault('unhandled rejection', new Error('forgotten'));
    const [error] = launcher.launcher.providerErrors;
    const taken = await harness.take(['small']);
    await harness.giveBack(taken);
    await harness.until(() => made() === 2 && launcher.launcher.providerErrors.length === 0, 'it is made again', 5_000);
    const odd = await harness.take(['odd']);

    expect(error).toEqual({ provider: 'bad', error: 'unhandled rejection of driver "bad": forgotten' });
    expect(launcher.provider).toBe(healthy);
    expect(odd.nodes[0]?.provider).toBe('bad');
  });

  it('is restarted with increasing delays, and another error during a delay changes nothing', async () => {
    const scopes: DriverScope[] = [];
    const { harness, made } = await setUp(() => void scopes.push(currentDriverScope() as DriverScope));
    const pauses: number[] = [];
    for (let round = 1; round <= 5; round++) {
      const beganMs = harness.cloud.clock.now();
      for (let i = 0; i < 3; i++) scopes.at(-1)?.fault('uncaught exception', new Error('again'));
      await harness.until(() => made() === round + 1, 'it is made again', 120_000);
      pauses.push(harness.cloud.clock.now() - beganMs);
    }

    expect(pauses[0]).toBeLessThanOrEqual(1_100);
    expect(pauses[4]).toBeGreaterThan(5_000);
    expect(made()).toBe(6);
  });

  it('is not restarted after it has been replaced', async () => {
    const scopes: DriverScope[] = [];
    const { harness, made } = await setUp(() => void scopes.push(currentDriverScope() as DriverScope));
    scopes[0]?.fault('uncaught exception', new Error('once'));
    await harness.until(() => made() === 2, 'it is made again', 5_000);

    scopes[0]?.fault('uncaught exception', new Error('the old one again'));
    await harness.pass(120_000);

    expect(made()).toBe(2);
  });
});
