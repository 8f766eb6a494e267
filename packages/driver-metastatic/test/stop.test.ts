import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Driver, Provider, ProviderContext } from '@nodepool/core';
import { driver as staticDriver } from '@nodepool/driver-static';
import type { Clock } from '@nodepool/zk-protocol';
import { driver } from '../src/index.js';
import { registryOf } from '@nodepool/core/testing';
import { startWorld, yamlOf } from './harness.js';
import type { World } from './harness.js';

let world: World;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world.stop());

it('leaves no timer when the provider stops between two attempts to take a backing node over', async () => {
  const timers = new Set<() => void>();
  let attempted = () => {};
  const attempt = new Promise<void>((resolve) => (attempted = resolve));
  let provider: Provider | undefined;
  const clumsy: Driver = {
    ...driver,
    getProvider: (config, context) => {
      const committer: ProviderContext['committer'] = {
        commit: (operations) => {
          const isTakeOver = operations.some(({ op, path }) => op === 'create' && path.includes('/lock'));
          if (!isTakeOver) return context.committer.commit(operations);
          attempted();
          return Promise.reject(new Error('out of order'));
        },
      };
      return (provider = driver.getProvider(config, {
        ...context,
        clock: countTimers(context.clock, timers),
        committer,
      }));
    },
  };
  await world.launcher(yamlOf({ hosts: 1 }), { registry: registryOf(staticDriver, clumsy) });
  const client = await world.client();
  const request = await client.ask(['small']);
  await attempt;
  await client.zk.delete(`/nodepool/requests/${request}`);
  await client.until('the launch is over', () => client.slots().length === 0);

  provider?.stop();
  await provider?.join();

  expect(timers.size).toBe(0);
});

it.each([
  ['that waits', false],
  ['whose provider was replaced, that waits', true],
])(
  'puts a launch %s for a machine that no provider makes, back at once when the launcher stops',
  async (_what, isReplaced) => {
    const { launcher, reconfigure } = await world.launcher(yamlOf({ hosts: 1 }));
    const client = await world.client();
    await client.use(await client.ask(['big']));
    const request = await client.ask(['small']);
    await client.until('a backing node is asked for', () => client.backingRequests().length === 1);
    if (isReplaced) await reconfigure(yamlOf({ hosts: 1, label: 'grace-time: 7' }));

    const startedMs = Date.now();
    await launcher.drain(60_000);
    const tookMs = Date.now() - startedMs;

    await client.until('the request waits for others', () => client.requests.get(request)?.state === 'requested');
    expect(client.backingRequests()).toEqual([]);
    expect(tookMs).toBeLessThan(10_000);
  },
);

/** A clock whose timers are known until they fire or are cancelled. */
function countTimers(clock: Clock, timers: Set<() => void>): Clock {
  return {
    now: () => clock.now(),
    setTimer: (ms, fn) => {
      const cancel = clock.setTimer(ms, () => {
        timers.delete(cancel);
        fn();
      });
      timers.add(cancel);
      return () => {
        timers.delete(cancel);
        cancel();
      };
    },
  };
}
