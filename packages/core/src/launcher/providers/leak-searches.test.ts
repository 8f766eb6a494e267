import {
  COMPONENTS_ROOT,
  encodeComponent,
  newPoolComponent,
  type JsonObject,
  type LauncherId,
} from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { databaseTag } from '../../cloud/ownership/ownership.js';
import { NODE_ID_TAG, PROVIDER_TAG } from '../../contract/instance.js';
import { idleProvider } from '../../../test/support/idle-provider.js';
import { plainDriver } from '../../../test/support/plain-driver.js';
import { rackProvider } from '../../../test/support/rack-world.js';
import { ServiceWorld } from '../../../test/support/service-world.js';
import { Harness } from '../../testing/harness/harness.js';
import { honestDriver, invalidConfigs, validConfig } from '../../../test/contract/honest-driver.js';
import { TestCloud } from '../../../test/contract/test-cloud.js';
import { LeakSearches } from './leak-searches.js';
import { ProviderRunner } from './provider-runner.js';

const SWEEP_MS = 60_000;

it('finds what a killed launcher had ordered within seconds of its end, and not with the next two sweeps', async () => {
  const cloud = new TestCloud();
  const entry: JsonObject = validConfig;
  const provider = 'test';
  const harness = await Harness.open({
    // its lists do not lag: where they do, a leak has to last longer than that
    ...{
      driver: honestDriver(() => cloud, { adapter: () => ({ listLagMs: 0 }) }),
      cloud: () => cloud,
      validConfig: entry,
      invalidConfigs,
    },
    file: { labels: ['small', 'large'].map((name) => ({ name, 'min-ready': 0 })) },
  });
  const { zk, launcher } = await harness.startLauncher();
  const body = newPoolComponent({
    ...{ name: 'main', providerName: provider, launcherId: 'killed' as LauncherId, hostname: 'nl02' },
    ...{ state: 'running', version: '1', supportedLabels: ['small'], priority: 100, paused: false },
  });
  const created = zk.create(`${COMPONENTS_ROOT}/pool/nl02-`, encodeComponent(body), {
    ephemeral: true,
    sequential: true,
  });
  const pool = await harness.during(created, 'the pool of another launcher registers');
  await harness.pass(SWEEP_MS + 1_000);
  const tags = { [PROVIDER_TAG]: provider, [NODE_ID_TAG]: '0000000099', ...databaseTag(launcher.databaseId) };
  const order = cloud.create(tags, null);
  await harness.during(order, 'an instance is ordered whose id is never stored');

  await harness.during(zk.delete(pool), 'the other launcher is gone');
  await harness.pass(20_000);

  expect(cloud.list()).toEqual([]);
  await harness.close();
});

describe('looking for leaked resources', () => {
  /** Running providers that tell when they are asked to look. */
  async function setUp(...names: string[]) {
    const looks: string[] = [];
    const world = await ServiceWorld.open();
    const runners = names.map((name) => {
      const cleanupLeakedResources = () => Promise.resolve(void looks.push(name));
      const provider = idleProvider({ ...rackProvider, name }, { cleanupLeakedResources });
      return new ProviderRunner(world.context, plainDriver('plain'), provider);
    });
    const leaks = new LeakSearches(world.context, new Map(runners.map((runner) => [runner.name, runner])));
    await world.clock.run(Promise.all(runners.map((runner) => runner.start())));
    return { world, looks, leaks, runners };
  }

  it('asks each provider, and one that was looked at a moment ago only later', async () => {
    const { world, looks, leaks } = await setUp('one', 'two');

    await leaks.searchAll();
    await leaks.searchAll();
    expect(looks).toEqual(['one', 'two']);

    await world.pass(5_000);
    await leaks.searchAll();
    expect(looks).toEqual(['one', 'two', 'one', 'two']);
  });

  it('asks none that does not run', async () => {
    const { looks, leaks, runners } = await setUp('one', 'two');

    runners[0]?.suspend(new Error('its driver is in disorder'));
    await leaks.searchAll();

    expect(looks).toEqual(['two']);
  });

  it('is done three times in the provider of a pool that has left, unless the launcher stops', async () => {
    const { world, looks, leaks } = await setUp('one', 'two');

    leaks.poolLeft('one');
    await world.pass(15_000);
    expect(looks).toEqual(['one', 'one', 'one']);

    leaks.poolLeft('one');
    leaks.stop();
    await world.pass(15_000);
    expect(looks).toHaveLength(3);
  });

  it('ends with the stop, also while the cloud does not answer', async () => {
    const world = await ServiceWorld.open();
    const cleanupLeakedResources = (signal: AbortSignal) =>
      new Promise<void>((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
    const runner = new ProviderRunner(
      world.context,
      plainDriver('plain'),
      idleProvider({ ...rackProvider, name: 'one' }, { cleanupLeakedResources }),
    );
    const leaks = new LeakSearches(world.context, new Map([['one', runner]]));
    await world.clock.run(runner.start());
    let isOver = false;
    const search = leaks.searchAll().then(() => (isOver = true));
    await world.pass(1_000);
    expect(isOver).toBe(false);

    leaks.stop();

    await search;
    expect(isOver).toBe(true);
  });
});
