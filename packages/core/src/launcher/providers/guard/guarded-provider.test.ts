import { newNode, newRequest, type NodeId, type NodeRecord } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { idleProvider } from '../../../../test/support/idle-provider.js';
import { launchingDrivers, LauncherRooms, standbyConfig } from '../../../../test/support/launcher-rooms.js';
import { plainDriver, registryOf } from '../../../../test/support/plain-driver.js';
import { poolConfig } from '../../../../test/support/pool-config.js';
import type { DriverRegistry } from '../../../config/discovery/registry-types.js';
import type { LaunchOrder, Provider } from '../../../contract/driver.js';
import { currentDriverScope, type DriverScope } from './driver-scope.js';

const NODE: NodeRecord = { ...newNode({ state: 'deleting', labels: ['a'] }, 0), id: '0000000001' as NodeId };
const HOUR_MS = 3_600_000;
const { signal } = new AbortController();

const broken = (): never => {
  throw new Error('the driver is broken');
};

/** A provider of a driver that is in order but for what is asked. */
async function guarded(changes: Partial<Provider>, drivers: DriverRegistry = launchingDrivers(changes)) {
  const { providers, world } = await LauncherRooms.open(standbyConfig, drivers);
  const runner = providers.get('p');
  if (!runner) throw new Error('there is no provider');
  return { world, runner, providers, provider: runner.provider };
}

describe('a driver that cannot answer', () => {
  it.each([
    ['throws', broken],
    ['answers what is none', () => 'nonsense' as never],
  ])('and %s is taken to have given the answer that is safe', async (_what, answer) => {
    const { provider } = await guarded({
      ...{ labelReady: answer, blockers: answer, errorLabels: answer, labelCapacity: answer, canHold: answer },
      ...{ hosts: answer, conditions: answer, leakedResources: answer, alienResources: answer, ownsResource: answer },
      quota: { quotaNeededByLabel: answer, estimatedNodepoolQuota: answer, invalidateQuotaCache: answer },
    });

    expect(provider.labelReady('main', 'a')).toBe(false);
    expect(provider.canHold?.('main', ['a'])).toBe(true);
    expect([provider.blockers?.('main', 'a'), provider.labelCapacity?.('main', 'a')]).toEqual([[], undefined]);
    expect([provider.hosts?.(), provider.leakedResources?.(), provider.alienResources?.()]).toEqual([[], [], []]);
    expect([provider.conditions?.(), provider.errorLabels().size]).toEqual([[], 0]);
    expect([provider.ownsResource?.(NODE), provider.ownsResource?.({ ...NODE, externalId: 'i' })]).toEqual([
      false,
      true,
    ]);
    expect(provider.quota?.quotaNeededByLabel('a', poolConfig('main', ['a']))).toEqual({ instances: 1 });
    expect(provider.quota?.estimatedNodepoolQuota()).toBeUndefined();
  });

  it('for a request makes launches fail with its error', async () => {
    const { provider } = await guarded({ getRequestHandler: broken });
    const pool = poolConfig('main', ['a']);
    const request = newRequest({ labels: ['a'] }, 0);

    const handler = provider.getRequestHandler(pool, request);
    const label = pool.labels.get('a') ?? { name: 'a' };
    const order: LaunchOrder = { ...{ node: NODE, pool, label, request }, store: () => Promise.resolve(NODE) };

    expect(handler.imagesAvailable()).toBe(true);
    expect(await handler.launch?.(order, signal)).toMatchObject({
      state: 'failed',
      error: { message: 'the driver is broken' },
    });
  });
});

describe('a driver that hangs', () => {
  it('has an hour for a deletion', async () => {
    const { world, provider } = await guarded({ startNodeCleanup: () => new Promise(() => undefined) });
    const told: string[] = [];

    provider.startNodeCleanup(NODE, signal)?.catch((error: Error) => told.push(error.message));
    await world.clock.advance(HOUR_MS - 1);
    expect(told).toEqual([]);
    await world.clock.advance(1);

    expect(told).toEqual([expect.stringContaining('deletion of node 0000000001 in provider "p"')]);
  });

  it('is not asked for another look for leaks meanwhile', async () => {
    let looks = 0;
    const { provider } = await guarded({
      cleanupLeakedResources: () => {
        looks++;
        return new Promise(() => undefined);
      },
    });

    void provider.cleanupLeakedResources(signal);
    await provider.cleanupLeakedResources(signal);

    expect(looks).toBe(1);
  });
});

describe('a driver that makes no provider', () => {
  const driverThat = (getProvider: () => Provider) =>
    registryOf(
      plainDriver('idle', {
        capabilities: { launches: true, pausesAtQuota: false, managesImages: false },
        getProvider,
      }),
    );

  it('is asked again; requests wait, and nothing can be deleted', async () => {
    let isBroken = true;
    const [config] = standbyConfig.providers.values();
    if (!config) throw new Error('there is no provider');
    const drivers = driverThat(() => (isBroken ? broken() : idleProvider(config, { labelReady: () => false })));
    const { world, runner, providers, provider } = await guarded({}, drivers);
    expect(providers.startErrors()).toEqual([{ provider: 'p', error: 'the driver is broken' }]);
    expect(provider.labelReady('main', 'a')).toBe(true);
    expect(() => provider.startNodeCleanup(NODE, signal)).toThrow('could not be made yet');

    isBroken = false;
    await world.pass(2_000);

    expect([runner.running, provider.labelReady('main', 'a')]).toEqual([true, false]);
  });

  it('but something else is refused with what it lacks', async () => {
    const { providers } = await guarded(
      {},
      driverThat(() => ({ idle() {}, stop() {} }) as never),
    );

    expect(providers.startErrors()[0]?.error).toContain(
      'getProvider returned a provider without start, join, labelReady',
    );
  });
});

it('tells of errors that no call returned, with the provider whose they are', async () => {
  let scope: DriverScope | undefined;
  const { providers, provider } = await guarded({ start: () => Promise.resolve(void (scope = currentDriverScope())) });
  const told: unknown[] = [];
  providers.restartBy({ driverFaulted: (...fault) => void told.push([...fault, currentDriverScope()]) });
  const error = new Error('forgotten');

  scope?.fault('unhandled rejection', error);

  expect(scope).toMatchObject({ provider: 'p', driver: 'idle' });
  expect(told).toEqual([[provider, 'unhandled rejection', error, undefined]]);
});
