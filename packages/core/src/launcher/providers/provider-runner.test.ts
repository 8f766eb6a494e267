import { newNode, type NodeId } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { idleProvider } from '../../../test/support/idle-provider.js';
import { plainDriver } from '../../../test/support/plain-driver.js';
import { poolConfig } from '../../../test/support/pool-config.js';
import { rackProvider } from '../../../test/support/rack-world.js';
import { ServiceWorld } from '../../../test/support/service-world.js';
import type { Provider, QuotaSupport } from '../../contract/driver.js';
import { ProviderRunner } from './provider-runner.js';

const main = poolConfig('main', ['a', 'big']);
const quota: QuotaSupport = {
  quotaNeededByLabel: (label) => ({ instances: 1, cores: label === 'big' ? 8 : 2 }),
  estimatedNodepoolQuota: () => ({}),
  invalidateQuotaCache: () => undefined,
};

async function setUp(changes: Partial<Provider> = {}) {
  const world = await ServiceWorld.open();
  const config = { ...rackProvider, name: 'p', pools: new Map([['main', main]]) };
  const driver = plainDriver('plain', { capabilities: { launches: true, pausesAtQuota: true, managesImages: false } });
  const runner = new ProviderRunner(world.context, driver, idleProvider(config, changes));
  const started: string[] = [];
  world.context.events.on('providerStarted', ({ provider }) => started.push(provider));
  return { world, runner, started };
}

function nodeOf(pool: string, ...labels: string[]) {
  return { ...newNode({ state: 'ready', labels, provider: 'p', pool }, 0), id: '0000000001' as NodeId };
}

describe('what a node needs', () => {
  it('is what the driver says of the first of its labels', async () => {
    const { runner } = await setUp({ quota });

    expect(runner.needOf('a', main)).toEqual({ instances: 1, cores: 2 });
    expect(runner.needOfNode(nodeOf('main', 'big', 'a'))).toEqual({ instances: 1, cores: 8 });
  });

  it('is a single instance where nothing else is known', async () => {
    const withoutQuota = await setUp();
    const { runner } = await setUp({ quota });

    expect(withoutQuota.runner.needOf('big', main)).toEqual({ instances: 1 });
    expect(runner.needOfNode(nodeOf('removed', 'big'))).toEqual({ instances: 1 });
    expect(runner.needOfNode(nodeOf('main'))).toEqual({ instances: 1 });
  });
});

describe('the start of a provider', () => {
  it('is tried again until it succeeds', async () => {
    let failures = 2;
    const start = () => (failures-- > 0 ? Promise.reject(new Error('the cloud is away')) : Promise.resolve());
    const { world, runner, started } = await setUp({ start });

    await world.clock.run(runner.start());
    const before = [runner.running, runner.startFailure?.message];
    await world.pass(60_000);

    expect(before).toEqual([false, 'the cloud is away']);
    expect([runner.running, runner.startFailure, started]).toEqual([true, undefined, ['p']]);
  });

  it('that hangs is not waited for longer than half a minute, and may yet succeed', async () => {
    let succeed = (): void => undefined;
    const start = () => new Promise<void>((resolve) => (succeed = resolve));
    const { world, runner, started } = await setUp({ start });
    const beganMs = world.clock.now();

    await world.clock.run(runner.start());
    const before = [world.clock.now() - beganMs, runner.running, runner.startFailure?.name];
    succeed();
    await world.pass(100);

    expect(before).toEqual([30_000, false, 'TimeoutError']);
    expect([runner.running, runner.startFailure, started]).toEqual([true, undefined, ['p']]);
  });

  it('is not tried again once the provider has been stopped', async () => {
    let starts = 0;
    const start = () => Promise.reject(new Error(`attempt ${++starts}`));
    const { world, runner, started } = await setUp({ start });
    await world.clock.run(runner.start());

    await world.clock.run(runner.stop());
    await world.pass(600_000);

    expect([starts, runner.running, started]).toEqual([1, false, []]);
  });
});
