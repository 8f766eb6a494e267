import { expect, it } from 'vitest';
import { node } from '../../test/support/records.js';
import { OwnPools } from './own-pools.js';

const workerOf = (host: string, random: string) => `${host}-PoolWorker.cloud-main-${random.repeat(32)}`;
const held = (pools: OwnPools, launcher: string | null, provider = 'cloud') =>
  pools.holds(node('0000000001', { launcher, provider }));

it('holds the nodes of its pools, those from before a restart, and static hosts, until a pool is closed', () => {
  const pools = new OwnPools();
  const view = { launcherId: workerOf('nl01', 'a'), provider: 'cloud', pool: { name: 'main' } };
  pools.of(view);

  expect(held(pools, workerOf('nl01', 'a'))).toBe(true);
  expect(held(pools, workerOf('nl01', 'b'))).toBe(true);
  expect(held(pools, workerOf('nl02', 'a'))).toBe(false);
  expect(held(pools, 'static driver')).toBe(true);
  expect(held(pools, null, 'other')).toBe(false);

  pools.close(view);

  expect([held(pools, workerOf('nl01', 'a')), held(pools, 'static driver')]).toEqual([false, false]);
});

it('holds the nodes of a pool that came back while the former one drained', () => {
  const pools = new OwnPools();
  const view = { provider: 'cloud', pool: { name: 'main' } };
  const former = { ...view, launcherId: workerOf('nl01', 'a') };
  pools.of(former);
  pools.of({ ...view, launcherId: workerOf('nl01', 'b') });

  pools.close(former);

  expect(held(pools, workerOf('nl01', 'b'))).toBe(true);
});
