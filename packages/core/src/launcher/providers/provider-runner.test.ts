import { expect, it } from 'vitest';
import { idleProvider } from '../../../test/support/idle-provider.js';
import { plainDriver } from '../../../test/support/plain-driver.js';
import { poolConfig } from '../../../test/support/pool-config.js';
import { ServiceWorld } from '../../../test/support/service-world.js';
import type { QuotaSupport } from '../../contract/driver.js';
import { ProviderRunner } from './provider-runner.js';

const NEED = { instances: 1, cores: 2, ports: 3 };

async function setUp(): Promise<{ world: ServiceWorld; runner: ProviderRunner; need: { now: typeof NEED } }> {
  const world = await ServiceWorld.open();
  const need = { now: NEED };
  const config = {
    ...{ name: 'p', driverName: 'plain', entry: {}, managesImages: false, maxConcurrency: -1, priority: undefined },
    pools: new Map(['main', 'other'].map((name) => [name, poolConfig(name, ['a'])])),
  };
  const quota: QuotaSupport = {
    quotaNeededByLabel: () => need.now,
    estimatedNodepoolQuota: () => ({}),
    invalidateQuotaCache: () => undefined,
  };
  const driver = plainDriver('plain', { capabilities: { launches: true, pausesAtQuota: true, managesImages: false } });
  return { world, need, runner: new ProviderRunner(world.services, { driver }, idleProvider(config, { quota })) };
}

it('counts ports by labels, as records do not tell them, whoever made the nodes', async () => {
  const { world, runner } = await setUp();
  await world.createNode({ resources: { instances: 1, cores: 2 } });
  await world.createNode({ resources: { instances: 1, cores: 2, ports: 1 } }); // of an older version
  await world.createNode({ resources: { instances: 1, cores: 2 }, pool: 'other' });

  expect(runner.usedByPool('main')).toEqual({ instances: 2, cores: 4, ports: 6 });
  expect(runner.usedByProvider()).toEqual({ instances: 3, cores: 6, ports: 9 });
});

it('counts the ports of a launch once, before and after its node has a record', async () => {
  const { world, runner } = await setUp();
  const place = { provider: 'p', pool: 'main', label: 'a' };
  const counted = world.services.mirror.labelUse.promise(place);
  const planned = runner.planLaunch('main', NEED, () => undefined);
  const before = runner.usedByProvider();

  await world.createNode({ resources: { instances: 1, cores: 2 } });
  planned.recorded(null);
  counted();

  expect(before).toEqual(NEED);
  expect(runner.usedByProvider()).toEqual(NEED);
});

it('counts the ports of nodes that were there before the need of their label was known', async () => {
  const { world, runner, need } = await setUp();
  need.now = { ...NEED, ports: 0 };
  await world.createNode({ resources: { instances: 1, cores: 2 } });
  need.now = NEED;

  expect(runner.usedByProvider()).toEqual(NEED);
});
